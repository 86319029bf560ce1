"""Quality of replayed activations: real ones, class-free ones, and a learner that is not changed."""

from typing import Any

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation import protocols
from everlearn.learners import ER, GNR
from everlearn.serialization import digest
from everlearn.streams import from_arrays

LABELS = np.arange(480) % 6
IMAGES = np.random.default_rng(0).integers(0, 120, (480, 16, 16)).astype(np.uint8)
for number, label in enumerate(LABELS):
    IMAGES[number, 2 * label : 2 * label + 4] += 100
"""Noise with a bright bar, whose position is that of the class."""
STREAM = from_arrays(IMAGES, LABELS, classes_per_task=3, split=(0.5, 0.0, 0.5))


class Oracle:
    """Replays exact, shuffled or constant copies of real activations."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass

    def latent_activations(self, images: np.ndarray) -> np.ndarray:
        return images.reshape(len(images), -1).astype(float)

    def sample_replay(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        test = STREAM.eval_sample(2, n)
        rows = self.latent_activations(test.images)
        if self.kind == "constant":
            rows = np.zeros_like(rows)
        shift = {"real": 0, "shifted": 1, "constant": 0}[self.kind]
        return rows, (test.labels + shift) % 6


def quality(learner: Any, n_images: int = 400) -> Any:
    return protocols.evaluate("replay-quality", learner, STREAM, 2, n_samples=400, n_images=n_images)


def test_real_activations_are_as_good_as_others() -> None:
    found = quality(Oracle("real"))
    assert found.nearest_mean == pytest.approx(found.nearest_mean_real, abs=0.15)
    assert found.head >= found.head_real > 0.7
    assert found.n_classes == 6


def test_wrong_labels_and_constant_activations_are_found_out() -> None:
    assert quality(Oracle("shifted")).head < 0.1
    assert quality(Oracle("constant")).nearest_mean == pytest.approx(1 / 6, abs=0.05)
    assert quality(Oracle("constant")).head == pytest.approx(1 / 6, abs=0.05)


@pytest.mark.parametrize("source", ["real", "generated", "random"])
def test_learner_is_left_unchanged(source: str) -> None:
    learner = GNR(image_shape=(16, 16), source=source, **GNR.tiny_settings)
    for task in STREAM.take(2):
        view = task.for_learner()
        learner.begin(view)
        learner.learn(view.train)
        learner.end(view)
    before = digest(learner.state())
    found = quality(learner)
    assert digest(learner.state()) == before
    assert 0 <= found.nearest_mean <= 1
    if source == "real":
        assert found.nearest_mean > 0.4
    assert "replayed" in found.table().headers


def test_learners_without_replay_are_refused() -> None:
    with pytest.raises(BadInput, match="replays"):
        quality(GNR(image_shape=(16, 16), source="none"))
    with pytest.raises(BadInput):
        quality(ER.tiny())
