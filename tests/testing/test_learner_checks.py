"""Each check of learners detects a learner that breaks its promise."""

from typing import Any

import numpy as np
import pytest
import torch

from everlearn.learners import ER
from everlearn.learners.stateful import Footprint
from everlearn.streams import Batch
from everlearn.testing import BrokenContract, check_learner


class Guesses(ER):
    """Predicts before anything is learned."""

    def predict(self, images: Any, tasks: Any = None) -> Any:
        return np.zeros(len(images), np.int64)


class Floats(ER):
    """Predicts floating-point numbers."""

    def predict(self, images: Any, tasks: Any = None) -> Any:
        return super().predict(images, tasks).astype(float)


class Overwrites(ER):
    """Changes the batch."""

    def learn(self, batch: Batch) -> dict[str, float]:
        losses = super().learn(batch)
        batch.images[:] = 0
        return losses


class Aliases(ER):
    """Keeps a reference to the batch."""

    parts = ("last",)
    last = np.zeros((1, 16, 16), np.uint8)

    def learn(self, batch: Batch) -> dict[str, float]:
        self.last = batch.images
        return super().learn(batch)


class Silent(ER):
    """Gives no losses."""

    def learn(self, batch: Batch) -> dict[str, float]:
        super().learn(batch)
        return {}


class Unseeded(ER):
    """Uses torch's global random numbers."""

    def learn(self, batch: Batch) -> dict[str, float]:
        torch.rand(1)
        return super().learn(batch)


class Forgets(ER):
    """Has state that is not declared."""

    n_seen = 0

    def learn(self, batch: Batch) -> dict[str, float]:
        self.n_seen += 1
        if self.n_seen % 2:
            return {"loss": 0.0}
        return super().learn(batch)


class Exaggerates(ER):
    """Reports more memory than it has."""

    def footprint(self) -> Footprint:
        return Footprint(memory=10**12)


class Fails(ER):
    """Raises an error in `end`."""

    def end(self, task: Any) -> None:
        raise KeyError("missing")


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Guesses, "Guesses.predict gives labels before anything is learned; give -1"),
        (Floats, "Floats.predict gives an array of float64"),
        (Overwrites, "Overwrites.learn changes the images or labels of the batch"),
        (Aliases, "Aliases keeps a reference to the batch; store a copy"),
        (Silent, r"Silent.learn gives \{\}; give a dictionary of finite losses"),
        (Unseeded, "Unseeded changes torch's global random numbers"),
        (Forgets, "Forgets ends differently if it is saved and loaded within a task"),
        (Exaggerates, "Exaggerates.footprint counts 1000000000000 bytes"),
        (Fails, "Fails fails in the check predicts: KeyError: 'missing'"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_broken_promise_is_named(learner: type[ER], message: str) -> None:
    with pytest.raises(BrokenContract, match=message):
        check_learner(learner, backbone="mlp")
