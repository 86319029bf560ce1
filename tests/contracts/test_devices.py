"""Every learner on a simulated CUDA and MPS device, and in mixed precision."""

from collections.abc import Iterator
from dataclasses import astuple

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.learners import Learner
from everlearn.learners.stateful import Stateful
from everlearn.networks.devices import mixed_precision
from everlearn.networks.simulated_device import SimulatedDevice
from everlearn.serialization import digest, pack, unpack
from everlearn.testing import make_trial
from tests.golden import adapter

from .names import some_learners

TRIAL = make_trial("naive")
STREAM, IMAGES, train = TRIAL.stream, TRIAL.images, TRIAL.train
CAPABILITIES = ("encode", "posterior", "novelty", "estimate", "features", "environment_probabilities")
WAITING = {
    "a-gem": "it compares gradients",
    "coda-prompt": "as l2p",
    "dcl": "it skips batches with small pose errors",
    "der": "logits are stored in host memory",
    "der++": "logits are stored in host memory",
    "dualprompt": "as l2p",
    "fecam": "statistics are in host memory",
    "hpcr": "logits and features are stored in host memory",
    "gnr": "it counts labels in host memory",
    "l2p": "clipping groups gradients by the device that they are on in truth",
    "prototypes": "statistics are in host memory",
    "ranpac": "statistics are in host memory",
    "simplecil": "statistics are in host memory",
    "slda": "statistics are in host memory",
    "vase": "it infers the environment of a batch",
}
"""Learners whose methods need a value of the device in each step."""


def fresh(name: str) -> Learner:
    return make_trial(name).fresh()


def on(name: str, kind: str) -> Learner:
    return fresh(name).to(torch.device(kind))


def weights(part: Stateful) -> Iterator[torch.Tensor]:
    """All weights and buffers among the declared parts."""
    for each in (getattr(part, name) for name in part.used_parts):
        if isinstance(each, Stateful):
            yield from weights(each)
        elif isinstance(each, nn.Module):
            yield from each.state_dict().values()
        elif isinstance(each, torch.Tensor):
            yield each


@pytest.fixture(params=some_learners())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("kind", ["cuda", pytest.param("mps", marks=pytest.mark.slow)])
def test_learner_works_on_a_gpu_and_its_state_on_a_cpu(name: str, kind: str) -> None:
    first = digest(fresh(name).state())
    with SimulatedDevice(kind):
        learner = on(name, kind)
        assert digest(learner.state()) == first, "a seed gives the same weights on every device"
        for k in (0, 1):
            train(learner, STREAM.task(k), n_batches=2)
        assert {each.device.type for each in weights(learner)} <= {kind}
        predictions = learner.predict(IMAGES)
        for method in CAPABILITIES:
            getattr(learner, method, len)(IMAGES)
        state = pack(learner.state())
        again = on(name, kind)
        again.load(unpack(state))
        assert {each.device.type for each in weights(again)} <= {kind}
        assert (again.predict(IMAGES) == predictions).all()
        train(again, STREAM.task(2), n_batches=1)
    opened = fresh(name)
    opened.load(unpack(state))
    assert digest(opened.state()) == digest(unpack(state))
    if kind == "cuda":  # contrastive has other precision on mps
        assert (opened.predict(IMAGES) == predictions).all()
    train(opened, STREAM.task(2), n_batches=1)


def test_training_steps_do_not_wait_for_the_gpu(name: str) -> None:
    with SimulatedDevice("cuda") as gpu:
        learner, task = train(on(name, "cuda"), STREAM.task(0), n_batches=1), STREAM.task(1)
        learner.begin(task.for_learner())
        learner.learn(task.train[:8])
        before = gpu.n_waits
        learner.learn(task.train[8:16])
        assert (gpu.n_waits > before) == (name in WAITING)


def test_learner_trains_in_mixed_precision(name: str) -> None:
    learner, task = fresh(name), STREAM.task(0)
    learner.begin(task.for_learner())
    for batch in list(task.train.batches(8))[:2]:
        with mixed_precision(torch.device("cpu"), enabled=True):
            losses = learner.learn(batch)
    learner.end(task.for_learner())
    assert all(np.isfinite(float(value)) for value in losses.values())
    assert {each.dtype for each in weights(learner)} <= {torch.float32, torch.int64}
    assert learner.predict(IMAGES).shape == (len(IMAGES),)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cuda", "mps"])
@pytest.mark.parametrize("case", [name for name in adapter.LEARNERS if "," in name])
def test_learner_with_other_settings_works_on_a_gpu(case: str, kind: str) -> None:
    learner, settings, stream, size, n = astuple(adapter.LEARNERS[case])
    tasks = adapter.build_stream(adapter.LEARNER_STREAMS[stream])
    with SimulatedDevice(kind):
        built = adapter.build_learner(learner, settings, tasks).to(torch.device(kind))
        for k in (0, 1, 2):
            adapter.train(built, tasks.task(k), size, n)
        for method in ("predict", *CAPABILITIES):
            getattr(built, method, len)(tasks.task(0).test.images[:8])
        assert {each.device.type for each in weights(built)} <= {kind}
