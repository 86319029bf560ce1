"""An index that was updated with edits of a memory equals a new one; candidates are views of classes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from everlearn.learners.feature_index import VIEWS_PER_CLASS, FeatureIndex, Views
from everlearn.memory import ExemplarMemory
from everlearn.networks import pose
from everlearn.streams import Batch
from everlearn.streams.stream import Images

N_VIEWS = 4
DESCRIBED: list[int] = []


def describe(images: Images) -> Views:
    """The mean level and its view, four times."""
    DESCRIBED.append(len(images))
    rows = np.repeat(np.arange(len(images)), N_VIEWS)
    angles = torch.from_numpy(np.tile(np.arange(N_VIEWS) * np.pi / 2, len(images))).float()
    levels = images.mean(axis=(1, 2))[rows] / 255
    vectors = np.stack([levels, np.tile(np.arange(N_VIEWS), len(images)) / 100], axis=1)
    zeros = torch.zeros(len(rows))
    return Views(vectors.astype(np.float32), rows, pose.similarity(zeros + 1, angles, zeros, zeros))


def batch(*labels: int) -> Batch:
    return Batch(np.stack([np.full((4, 4), 10 * label, np.uint8) for label in labels]), np.array(labels))


@pytest.fixture
def memory() -> ExemplarMemory:
    memory = ExemplarMemory()
    memory.add(batch(1, 2, 3, 4))
    return memory


@pytest.mark.parametrize(
    ("edit", "n_described"),
    [
        (lambda memory: memory.add(batch(7, 2)), [2]),
        (lambda memory: memory.replace(3, batch(9).images, which=0), [1]),
        (lambda memory: memory.forget(4), []),
        (lambda memory: [memory.forget(label) for label in (1, 2, 3, 4)], []),
    ],
)
def test_only_what_was_edited_is_described_again(
    memory: ExemplarMemory, edit: Callable[[ExemplarMemory], object], n_described: list[int]
) -> None:
    index, fresh = FeatureIndex(describe), FeatureIndex(describe)
    index.update(memory)
    edit(memory)
    DESCRIBED.clear()
    index.update(memory)
    assert n_described == DESCRIBED
    fresh.update(memory)
    order, again = np.argsort(index.views.rows, kind="stable"), np.argsort(fresh.views.rows, kind="stable")
    assert len(order) == N_VIEWS * len(memory)
    np.testing.assert_array_equal(index.views.descriptors[order], fresh.views.descriptors[again])


def test_candidates_are_the_best_views_of_the_best_classes(memory: ExemplarMemory) -> None:
    index = FeatureIndex(describe)
    index.update(memory)
    found = index.nearest(np.array([[1.0, 1.0]], np.float32), memory.labels, 2)
    assert memory.labels[found.rows][0].tolist() == [4] * VIEWS_PER_CLASS + [3] * VIEWS_PER_CLASS
    assert (found.views[0] % N_VIEWS).tolist() == [3, 2, 1, 3, 2, 1]
    assert (np.diff(found.similarities[0, :VIEWS_PER_CLASS]) < 0).all()


def test_poses_lead_from_the_exemplar_to_the_image(memory: ExemplarMemory) -> None:
    index = FeatureIndex(describe)
    index.update(memory)
    frames = torch.tensor([[0.5, 0.0, 0.1, -0.2]])
    view = np.array([[1]])  # the exemplar rotated by a quarter turn
    expected = pose.compose(frames, pose.inverse(torch.tensor([[0.0, 1.0, 0.0, 0.0]])))
    torch.testing.assert_close(index.poses(frames, view)[:, 0], expected, atol=1e-6, rtol=0)
