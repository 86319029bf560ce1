"""Distances, poses and stored exemplars, checked against what the definitions give."""

import numpy as np
import pytest
import torch

from everlearn.evaluation import protocols
from everlearn.learners.dcl_features import DCLFeatures, frames, is_plain, view_of
from everlearn.networks import pose, to_tensor
from everlearn.streams import Batch, Stream, from_arrays, sprites

SIZE = 32


@pytest.fixture(scope="module")
def stream() -> Stream:
    return sprites(image_size=SIZE, factor_values=4, classes_per_task=4)


@pytest.fixture(scope="module")
def learner(stream: Stream) -> DCLFeatures:
    """It knows two tasks."""
    learner = DCLFeatures(image_shape=(SIZE, SIZE), input_size=SIZE)
    for task in stream.take(2):
        learner.begin(task.for_learner())
        learner.end(task.for_learner())
    return learner


def textured(n: int) -> np.ndarray:
    """Images without a plain background, in colour."""
    return np.random.default_rng(0).integers(0, 255, (n, SIZE, SIZE, 3), np.uint8)


def test_distance_without_alignment_is_one_minus_the_cosine() -> None:
    images = textured(6)
    learner = DCLFeatures(image_shape=(SIZE, SIZE, 3), input_size=SIZE)
    learner.learn(Batch(images[:4], np.array([5, 7, 8, 9])))
    features = learner.net(to_tensor(images)).double().numpy()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    expected = np.sort(1 - unit @ unit[:4].T, axis=1)
    match = learner.match(images)
    np.testing.assert_allclose(match.residuals, expected[:, 0], atol=1e-6)
    np.testing.assert_allclose(match.runner_up_residuals, expected[:, 1], atol=1e-6)
    assert match.labels[:4].tolist() == [5, 7, 8, 9]
    np.testing.assert_array_equal(match.poses, np.tile(pose.CANONICAL, (6, 1)))


def test_distance_with_alignment_adds_the_unexplained_contrast(stream: Stream, learner: DCLFeatures) -> None:
    image = stream.task(1).test[:1]
    match = learner.match(image.images)
    (exemplar,) = learner.memory.images_of(int(match.labels[0]))
    warped = pose.to_images(
        pose.from_canonical(to_tensor(exemplar[None]), torch.from_numpy(match.poses).float())
    )
    pixels = image.images.astype(np.float64)
    unexplained = np.square(warped - pixels).sum() / np.square(pixels - pixels[0, 0, 0]).sum()
    similarity = (
        learner.index.nearest(learner.describe(image.images, frames(image.images)), learner.memory.labels, 8)
        .similarities[0]
        .max()
    )
    assert match.residuals[0] == pytest.approx(1 - similarity + unexplained, abs=0.02)


def test_rotated_moved_and_scaled_sprites_are_recognised_and_their_poses_found(
    stream: Stream, learner: DCLFeatures
) -> None:
    test = stream.eval_sample(2, 60)
    assert (learner.predict(test.images) == test.labels).mean() > 0.9
    found = pose.poses_from_factors(learner.estimate(test.images))
    errors = (found - pose.poses_from_factors(test.factors)).abs().amax(1)
    assert float(errors.median()) < 0.05


def test_a_view_of_a_sprite_does_not_depend_on_position_and_size(stream: Stream) -> None:
    task = stream.task(0).train
    same = np.flatnonzero((task.labels == task.labels[0]) & (task.factors.angle == task.factors.angle[0]))
    views = view_of(task.images[same], frames(task.images[same]), SIZE)
    images = to_tensor(task.images[same])
    assert float((views - views[:1]).square().mean()) < 0.2 * float((images - images[:1]).square().mean())


def test_images_without_plain_background_are_compared_as_they_are() -> None:
    images = textured(2)
    assert not is_plain(images).any()
    torch.testing.assert_close(view_of(images, frames(images), SIZE), to_tensor(images), atol=1e-4, rtol=0)


def test_the_first_images_of_a_class_are_stored() -> None:
    learner = DCLFeatures(image_shape=(SIZE, SIZE, 3), input_size=16, n_exemplars=2)
    images = textured(6)
    assert learner.learn(Batch(images[:4], np.array([1, 1, 1, 2]))) == {"stored": 3.0}
    assert learner.learn(Batch(images[4:], np.array([1, 2]))) == {"stored": 1.0}
    np.testing.assert_array_equal(learner.memory.images_of(2), images[[3, 5]])


def test_forgotten_classes_leave_no_descriptor(stream: Stream, learner: DCLFeatures) -> None:
    task, state = stream.task(0), learner.state()
    label = int(task.labels[0])
    learner.memory.forget(label)
    again = DCLFeatures(image_shape=(SIZE, SIZE), input_size=SIZE)
    again.memory.add(Batch(learner.memory.images, learner.memory.labels))
    images = task.test.images
    assert label not in learner.predict(images)
    np.testing.assert_array_equal(learner.predict(images), again.predict(images))
    assert len(learner.index.views.rows) == len(again.index.views.rows) == 16 * len(again.memory)
    learner.load(state)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("one-shot", {"n_new": (3,), "n_images": 12}),
        ("open-set", {"n_images": 12}),
        ("open-world", {"n_new": 2, "n_per_class": 3}),
    ],
)
def test_protocols_accept_it(stream: Stream, learner: DCLFeatures, name: str, options: dict) -> None:
    assert protocols.evaluate(name, learner, stream, 2, **options).table().rows


def test_it_needs_no_exemplars_and_no_factors() -> None:
    images, labels = np.repeat(textured(4), 3, axis=0), np.repeat(np.arange(4), 3)
    stream = from_arrays(images, labels, classes_per_task=2)
    learner = DCLFeatures(image_shape=stream.image_shape, input_size=16)
    for task in stream:
        view = task.for_learner()
        learner.begin(view)
        learner.learn(view.train)
        learner.end(view)
        assert (learner.predict(task.test.images) == task.test.labels).all()
