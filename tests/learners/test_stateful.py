from typing import ClassVar

import numpy as np
import torch
from torch import nn

from everlearn.learners.stateful import Footprint, Names, Stateful
from everlearn.memory import Reservoir
from everlearn.serialization import pack, unpack
from everlearn.streams import Batch


class Inner(Stateful):
    parts: ClassVar[Names] = ("tensors",)
    counters: ClassVar[Names] = ("labels",)

    def __init__(self) -> None:
        self.tensors = [torch.ones(2), torch.ones(1)]
        self.labels = [1, 2]


class Outer(Stateful):
    parts: ClassVar[Names] = ("net", "optim", "array", "buffer", "inner", "absent")
    counters: ClassVar[Names] = ("n_steps",)
    n_steps = 0
    n_loads = 0

    def __init__(self) -> None:
        self.net, self.array, self.inner, self.absent = nn.Linear(2, 1), np.zeros(3), Inner(), None
        self.optim, self.buffer = torch.optim.Adam(self.net.parameters()), Reservoir(capacity=5)

    def on_load(self) -> None:
        self.n_loads += 1


class More(Outer):
    parts: ClassVar[Names] = ("weight",)
    weight = torch.ones(4)


def test_declarations_of_bases_come_first() -> None:
    assert More.parts == (*Outer.parts, "weight")
    assert More.counters == ("n_steps",)


def test_state_is_loaded_into_another_object() -> None:
    one, other = More(), More()
    one.net(torch.ones(1, 2)).sum().backward()
    one.optim.step()
    one.buffer.add(Batch(np.ones((2, 2, 2), np.uint8), np.array([1, 2])))
    one.n_steps, one.array, one.inner.labels, one.inner.tensors = 5, np.ones(7), [3], [torch.zeros(9)]
    other.load(unpack(pack(one.state())))
    assert torch.equal(other.net.weight, one.net.weight)
    assert other.optim.state[other.net.weight]["step"] == 1
    assert (other.n_steps, other.n_loads, other.inner.labels, len(other.buffer)) == (5, 1, [3], 2)
    assert (other.array.shape, other.inner.tensors[0].shape, other.absent) == ((7,), (9,), None)


def test_footprint_adds_up_parts() -> None:
    learner = More()
    learner.buffer.add(Batch(np.ones((2, 2, 2), np.uint8), np.array([1, 2])))
    weights, arrays, images = 4 * (3 + 3 + 4), 3 * 8, 2 * (4 + 8)
    assert learner.footprint() == Footprint(weights=weights, memory=arrays + images)


def test_state_is_a_copy() -> None:
    learner = Inner()
    state = learner.state()
    learner.labels.append(3)
    learner.tensors[0] += 1
    assert state["labels"] == [1, 2]
    assert state["tensors"]["0"].tolist() == [1, 1]
