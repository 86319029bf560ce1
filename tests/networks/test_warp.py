import numpy as np
import torch

from everlearn.networks import to_tensor
from everlearn.networks.similarity import inverse, poses_of
from everlearn.networks.warp import normalise, place, to_bytes, to_images
from everlearn.streams import sprites


def test_true_poses_bring_images_to_their_exemplars() -> None:
    """The oracle test of the paper's code, at 256 px, with its limit of 0.004."""
    task = sprites(image_size=256, classes_per_task=2).task(0)
    batch = task.test[task.test.factors.scale > 0.6]  # type: ignore[union-attr]
    exemplars = {
        int(label): image for label, image in zip(task.exemplars.labels, task.exemplars.images, strict=True)
    }
    seen = to_images(normalise(to_tensor(batch.images), poses_of(batch.factors)))  # type: ignore[arg-type]
    for aligned, label in zip(seen, batch.labels.tolist(), strict=True):
        assert np.abs(aligned - exemplars[label]).mean() / 255 < 0.004


def test_the_other_direction_is_wrong() -> None:
    task = sprites(image_size=64, classes_per_task=1).task(0)
    away = task.test[task.test.factors.scale < 0.7]  # type: ignore[union-attr]
    poses = poses_of(away.factors)  # type: ignore[arg-type]
    right = to_images(normalise(to_tensor(away.images), poses))
    wrong = to_images(normalise(to_tensor(away.images), inverse(poses)))
    exemplar = task.exemplars.images[0].astype(float)
    assert np.abs(right - exemplar).mean() < 0.2 * np.abs(wrong - exemplar).mean()


def test_exemplars_can_be_placed_as_the_stream_draws_them() -> None:
    """Without knowing outlines, a learner can make the images of the stream from an exemplar."""
    task = sprites(image_size=64, classes_per_task=1).task(0)
    poses = poses_of(task.test.factors)  # type: ignore[arg-type]
    placed = place(to_tensor(task.exemplars.images).expand(len(poses), -1, -1, -1), poses)
    difference = np.abs(to_images(placed) - task.test.images.astype(float))
    background = np.abs(169 - task.test.images.astype(float))
    assert difference.mean() < 0.05 * background.mean()


def test_outside_takes_the_value_of_the_border() -> None:
    images = to_tensor(np.full((1, 8, 8), 77, np.uint8))
    small = normalise(images, torch.tensor([[5.0, 0.0, 3.0, 0.0]]))
    np.testing.assert_allclose(to_images(small), 77, rtol=1e-5)


def test_bytes_survive_tensors() -> None:
    for shape in ((2, 5, 6), (2, 5, 6, 3)):
        images = np.random.Generator(np.random.Philox(0)).integers(0, 256, shape).astype(np.uint8)
        assert (to_bytes(to_tensor(images)) == images).all()
