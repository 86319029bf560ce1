from functools import cache

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.learners import EditsMemory, EstimatesFactors, Rejects
from everlearn.learners.dcl import DCL
from everlearn.learners.registry import complete, written
from everlearn.memory import ExemplarMemory
from everlearn.serialization import pack, unpack
from everlearn.streams import Batch, Stream, sprites

STREAM = sprites(image_size=32, classes_per_task=5, factor_values=4)
N_TASKS = 3


def trained(stream: Stream, n_batches: int, **settings: object) -> DCL:
    learner = DCL(image_shape=stream.task(0).exemplars.images.shape[1:], width=8, **settings)  # type: ignore[arg-type]
    for task in stream.take(N_TASKS):
        view = task.for_learner()
        learner.begin(view)
        for batch in list(view.train.shuffled(0, task.index).batches(32))[:n_batches]:
            learner.learn(Batch(batch.images, batch.labels) if "pose_supervision" in settings else batch)
        learner.end(view)
    return learner


@cache
def trained_state() -> bytes:
    return pack(trained(STREAM, 40).state())


@pytest.fixture
def learner() -> DCL:
    learner = DCL(image_shape=(32, 32), width=8)
    learner.load(unpack(trained_state()))
    return learner


def accuracy(learner: DCL, batch: Batch) -> float:
    return float(np.mean(learner.predict(batch.images) == batch.labels))


def probe(size: int = 200) -> Batch:
    return STREAM.eval_sample(N_TASKS, size)


def test_accuracy_on_all_tasks(learner: DCL) -> None:
    assert accuracy(learner, probe()) > 0.95
    assert accuracy(learner, STREAM.task(0).test) > 0.9


def test_estimated_factors_are_accurate(learner: DCL) -> None:
    assert isinstance(learner, EstimatesFactors)
    assert isinstance(learner, EditsMemory)
    batch = probe()
    assert batch.factors is not None
    errors = np.abs(learner.estimate(batch.images).array() - batch.factors.array())
    errors[:, 1] = np.minimum(errors[:, 1], 2 * np.pi - errors[:, 1])
    assert (np.median(errors, axis=0) < [0.01, 0.01, 0.005, 0.005]).all()


def test_alignment_and_refinement_improve_accuracy(learner: DCL) -> None:
    """Alignment improves on the nearest exemplar, and refinement on a single pose prediction."""
    batch = probe(400)
    full = accuracy(learner, batch)
    learner.n_candidates = 0
    learner.exemplars.cache.clear()
    plain = accuracy(learner, batch)
    learner.n_refinements = 0
    learner.exemplars.cache.clear()
    assert accuracy(learner, batch) < plain < full


def test_a_class_is_added_with_one_exemplar(learner: DCL) -> None:
    task = STREAM.task(N_TASKS)
    assert accuracy(learner, task.test) == 0
    learner.memory.add(task.exemplars)
    assert accuracy(learner, task.test) > 0.9


def test_a_removed_class_is_gone_from_predictions_and_state(learner: DCL) -> None:
    task = STREAM.task(1)
    label = task.labels[0]
    image = learner.memory.images_of(label)[0].tobytes()
    shown = task.test.images[task.test.labels == label]
    assert label in learner.predict(shown)
    assert image in pack(learner.state())
    learner.memory.rename(label, "a name to be erased")
    learner.memory.forget(label)
    assert label not in learner.predict(shown)
    assert label not in learner.predict(probe(400).images)
    assert image not in pack(learner.state())
    assert b"a name to be erased" not in pack(learner.state())


def test_removing_a_class_keeps_the_other_predictions(learner: DCL) -> None:
    batch, label = probe(), STREAM.task(0).labels[0]
    before = learner.predict(batch.images)
    learner.memory.forget(label)
    after = learner.predict(batch.images)
    assert (after == before)[before != label].all()


def test_empty_memory_predicts_unknown(learner: DCL) -> None:
    for label in learner.memory.classes():
        learner.memory.forget(label)
    images = probe(4).images
    assert (learner.predict(images) == -1).all()
    assert (learner.novelty(images) == 1).all()
    assert len(learner.estimate(images)) == len(images)


def test_memory_can_be_replaced(learner: DCL) -> None:
    task = STREAM.task(N_TASKS)
    learner.predict(task.test.images)
    learner.memory = ExemplarMemory()
    learner.memory.add(task.exemplars)
    assert accuracy(learner, task.test) > 0.95


def test_novelty_separates_known_from_unknown_classes(learner: DCL) -> None:
    assert isinstance(learner, Rejects)
    images, unknown = probe().images, STREAM.task(50).test.images
    known, new = learner.novelty(images), learner.novelty(unknown)
    assert np.mean(new[:, None] > known[None, :]) > 0.95
    assert ((known >= 0) & (known <= 1)).all()
    assert np.mean(known > 0.5) < 0.06
    assert np.mean(learner.predict(unknown, reject=True) == -1) > 0.7
    answers = learner.predict(images, reject=True)
    assert (answers == np.where(known > 0.5, -1, learner.predict(images))).all()


def test_training_on_augmented_exemplars_in_color() -> None:
    stream = sprites(image_size=32, classes_per_task=5, factor_values=4, rgb=True)
    learner = trained(stream, 60, pose_supervision="exemplars")
    assert accuracy(learner, stream.eval_sample(N_TASKS, 200)) > 0.6


def test_missing_factors_are_reported() -> None:
    batch = STREAM.task(0).train[:4]
    with pytest.raises(BadInput, match="'exemplars'"):
        DCL(image_shape=(32, 32)).learn(Batch(batch.images, batch.labels))


def test_batches_below_the_skip_threshold_are_skipped(learner: DCL) -> None:
    learner.skip_threshold = 10.0
    steps, batch = learner.n_steps, STREAM.task(0).train[:32]
    trained_on = [learner.learn(batch)["trained"] for _ in range(12)]
    assert trained_on == [0.0] * 12
    assert learner.n_steps == steps
    learner.skip_threshold, learner.n_to_skip = 0.0, 0
    assert learner.learn(batch)["trained"] == 1.0
    assert learner.n_steps == steps + 1


def test_first_images_become_exemplars() -> None:
    """The first image of a class is warped to the canonical frame by its true pose."""
    task, learner = STREAM.task(0), DCL(image_shape=(32, 32))
    learner.learn(task.train)
    assert learner.memory.classes() == list(task.labels)
    known = np.concatenate([learner.memory.images_of(label) for label in task.labels]).astype(float)
    own, others = known - task.exemplars.images, known - np.roll(task.exemplars.images, 1, axis=0)
    assert np.abs(own).mean() < 0.6 * np.abs(others).mean()


def test_angle_search_without_visible_orientation() -> None:
    """Without the marker the network cannot predict the angle."""
    stream = sprites(image_size=32, classes_per_task=5, marker=False, angle={"low": 0.0, "high": 6.28})
    one, many = (trained(stream, 30, pose_supervision="exemplars", n_angles=n) for n in (1, 16))
    batch = stream.eval_sample(N_TASKS, 100)
    assert accuracy(many, batch) > accuracy(one, batch) + 0.1
    assert accuracy(many, batch) > 0.6


def test_supervision_depends_on_settings() -> None:
    assert DCL.tiny().supervision == "labelled images, factor labels, exemplars"
    assert DCL(image_shape=(16, 16), pose_supervision="exemplars").supervision == "labelled images, exemplars"


def test_poses_from_moments_need_no_training() -> None:
    learner = DCL(image_shape=(64, 64), pose_estimator="moments")
    stream = sprites()
    for task in stream.take(20):
        learner.memory.add(task.exemplars)
    batch = stream.eval_sample(20, 200)
    assert accuracy(learner, batch) > 0.99
    assert learner.learn(stream.task(0).train[:64])["trained"] == learner.n_steps == 0
    learner.n_candidates = 0
    learner.exemplars.cache.clear()
    assert 0.4 < accuracy(learner, batch) < 0.95


def test_a_frozen_network_only_stores_exemplars() -> None:
    frozen = trained(STREAM, 4, train_tasks=1)
    assert frozen.n_steps == 4
    assert len(frozen.memory) == 5 * N_TASKS
    assert DCL(image_shape=(16, 16), train_tasks=0).supervision == "labelled images, exemplars"


def test_specs_from_before_a_setting_existed_keep_their_hash() -> None:
    settings = complete("dcl", {"train_tasks": -1, "pose_estimator": "network"})
    assert "train_tasks" not in written("dcl", settings)
    assert written("dcl", complete("dcl", {"train_tasks": 5}))["train_tasks"] == 5
