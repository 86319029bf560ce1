import inspect
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.errors import BadInput
from everlearn.learners import EditsMemory, learner_class
from everlearn.learners.base import Configurable, Footprint, Names, Stateful, setting, settings_model
from everlearn.memory import Reservoir
from everlearn.serialization import pack, unpack
from everlearn.streams import Batch


class Base(Configurable):
    """An example."""

    n_images: int = setting("images per step", default=64, ge=1)
    optimizer: str = setting("optimizer", default="adam", choices=("adam", "sgd"))

    def setup(self) -> None:
        self.doubled = 2 * self.n_images


class Derived(Base):
    """A derived example.

    Example:
        >>> Derived().strength
        1.0
    """

    strength: float = setting("weight of the penalty", default=1.0, gt=0, lt=10)
    policy: Literal["first", "last"] = setting("which images", default="last")
    n_images: int = setting(default=32)


def test_settings_become_attributes_before_setup() -> None:
    assert (Base().n_images, Base(n_images=3).doubled) == (64, 6)


def test_subclass_overrides_a_default_and_inherits_the_rest() -> None:
    assert Derived().n_images == 32
    assert Derived.settings["n_images"].description == "images per step"
    with pytest.raises(BadInput, match="n_images is 0; it must be at least 1"):
        Derived(n_images=0)
    assert Base().n_images == 64


def test_hiding_a_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Hides.n_images hides a setting; write setting\(default=...\)"):

        class Hides(Base):
            n_images = 5


def test_own_settings_come_first() -> None:
    assert list(Derived.settings) == ["strength", "policy", "n_images", "optimizer"]


def test_signature_and_docstring_show_every_setting() -> None:
    signature = inspect.signature(Derived)
    assert str(signature.parameters["n_images"]) == "n_images: int = 32"
    assert all(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())
    assert inspect.getdoc(Derived).splitlines()[0] == "A derived example."  # type: ignore[union-attr]
    assert "    n_images: images per step (default: 32)." in inspect.getdoc(Derived).splitlines()  # type: ignore[union-attr]
    assert inspect.getdoc(Derived).count("Args:") == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": 0}, "strength is 0; it must be greater than 0"),
        ({"strength": float("nan")}, "strength is nan"),
        ({"strength": "much"}, "strength is 'much'"),
        ({"policy": "lasst"}, "did you mean 'last'"),
        ({"optimizer": "sdg"}, "did you mean 'sgd'"),
        ({"strenght": 1}, "unknown Derived setting 'strenght'; did you mean 'strength'"),
        ({"n_images": True}, "n_images is True"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Derived(**settings)


def test_settings_model_has_choices_and_bounds() -> None:
    schema = settings_model(Derived, "derived").model_json_schema()["properties"]
    assert schema["optimizer"]["enum"] == ["adam", "sgd"]
    assert schema["strength"]["exclusiveMaximum"] == 10


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


@pytest.mark.parametrize(
    ("name", "edits"), [("dcl", True), ("er", False), ("naive", False), ("nearest", False)]
)
def test_only_exemplar_memories_can_be_edited(name: str, edits: bool) -> None:
    assert isinstance(learner_class(name).tiny(), EditsMemory) is edits
