import numpy as np
import pytest
import torch

from everlearn.learners.dcl import DCL, neighbor_grid
from everlearn.learners.image_comparison import ImageComparison
from everlearn.learners.registry import written
from everlearn.memory import ExemplarMemory
from everlearn.memory.robust_search import robust_distances
from everlearn.memory.search import NearestIndex
from everlearn.networks import pose
from everlearn.streams import Batch, Task, sprites

ROBUST = {"residual": "robust", "illumination": "plane"}


@pytest.fixture(scope="module")
def task() -> Task:
    return sprites(classes_per_task=30, factor_values=2, occluder=0.05, lighting=0.5).task(0)


class Oracle(DCL):
    """DCL that knows the true poses of the test images."""

    truth: torch.Tensor

    def estimate_poses(self, images: np.ndarray) -> torch.Tensor:
        return self.truth[: len(images)]


def oracle(task: Task, **settings: object) -> Oracle:
    learner = Oracle(image_shape=(64, 64), width=8, **settings)  # type: ignore[arg-type]
    learner.memory.add(task.exemplars)
    learner.truth = pose.poses_from_factors(task.test.factors)  # type: ignore[arg-type]
    return learner


def accuracy(learner: DCL, test: Batch) -> float:
    return float((learner.predict(test.images) == test.labels).mean())


def test_robust_comparison_recognises_what_squared_errors_do_not(task: Task) -> None:
    scores = {
        name: accuracy(oracle(task, **settings), task.test)
        for name, settings in {
            "default": {},
            "residual": {"residual": "robust"},
            "illumination": {"illumination": "plane"},
            "both": ROBUST,
        }.items()
    }
    assert scores["default"] < scores["illumination"] < scores["both"]
    assert scores["residual"] < 0.9
    assert scores["both"] > 0.95


def test_defaults_are_the_settings_of_before() -> None:
    assert not written("dcl", {"residual": "squared", "illumination": "none"})
    assert DCL.settings["residual"].late
    assert DCL.settings["illumination"].late


def test_unknown_shapes_are_more_novel_than_known_ones(task: Task) -> None:
    known = oracle(task, **ROBUST)
    unknown = oracle(task, **ROBUST)
    for label in task.labels[:15]:
        unknown.memory.forget(label)
    test = task.test[np.flatnonzero(task.test.labels < 15)]
    for learner in (known, unknown):
        learner.truth = pose.poses_from_factors(test.factors)  # type: ignore[arg-type]
    low, high = (learner.novelty(test.images) for learner in (known, unknown))
    assert (low[:, None] < high).mean() > 0.9  # the area under the ROC curve


def test_squared_candidates_are_those_of_the_index(task: Task) -> None:
    memory, index = ExemplarMemory(), NearestIndex(block=4)
    memory.add(task.exemplars)
    index.update(memory)
    images, poses = task.test.images[:5], pose.poses_from_factors(task.test.factors)[:5, None]  # type: ignore[arg-type, index]
    found = ImageComparison().candidates(index, images, poses, 3, memory.images)
    expected = index.candidates(pose.canonical_images(images, poses[:, 0]), 3)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


def test_robust_candidates_compare_poses_of_different_scale(task: Task) -> None:
    """The distance, minus that of a plain image, does not depend on how much of an image a pose sees."""
    memory, index = ExemplarMemory(), NearestIndex(block=4)
    memory.add(task.exemplars)
    index.update(memory)
    clean = sprites(classes_per_task=30, factor_values=2).task(0).test
    poses = pose.compose(
        pose.poses_from_factors(clean.factors).repeat_interleave(125, 0),  # type: ignore[arg-type]
        neighbor_grid().repeat(len(clean), 1),
    ).reshape(-1, 125, 4)
    _, distances = ImageComparison("robust").candidates(index, clean.images, poses, 1, memory.images)
    best = neighbor_grid()[distances.reshape(-1, 125).argmin(1)]
    same = torch.tensor([1.0, 0, 0, 0])
    assert float((best - same).abs().amax(1).lt(1e-3).float().mean()) > 0.8


def test_robust_distances_of_any_length() -> None:
    queries, codes = np.random.default_rng(0).normal(size=(2, 7, 21)).astype(np.float32)
    scales = np.linspace(0.5, 2, 7)
    for d in (3, 16, 21):
        squares = np.square(queries[:, None, :d] - codes[None, :, :d]).astype(float)
        s = np.square(scales)[:, None, None]
        expected = (squares * s / (s + squares)).sum(2)
        np.testing.assert_allclose(robust_distances(queries, codes, scales, d), expected, rtol=1e-5)


def test_memories_of_many_classes_are_searched_in_parts(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = oracle(task, **ROBUST)
    whole = learner.match(task.test.images[:6]) if learner.exemplars.index.update(learner.memory) else None
    monkeypatch.setattr("everlearn.memory.search.MAX_DISTANCES", 100)
    monkeypatch.setattr("everlearn.learners.image_comparison.MAX_WARPED", 300)
    parts = learner.match(task.test.images[:6])
    assert whole is not None
    np.testing.assert_array_equal(whole.residuals, parts.residuals)
