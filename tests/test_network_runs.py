"""Runs that show what the pose network is for: counts, true poses, warps, variants, finished results."""

import numpy as np
from benchmarks.network_runs import (
    ROBUST,
    TruePose,
    answers,
    count,
    hidden_shares,
    is_finished,
    make,
    memory_of,
    true_poses,
    variant,
    warping,
)

from everlearn.learners.dcl import DCL
from everlearn.learners.nearest_mean_image import NearestMeanImage
from everlearn.streams import sprites

STREAM = sprites()


def test_counting_with_another_memory_leaves_the_learner_as_it_was() -> None:
    learner, (first, second) = make(DCL, 0, pose_estimator="moments"), STREAM.take(2)
    learner.memory.add(first.exemplars)
    found = count(learner, memory_of(second.exemplars), second.test, search=True)
    assert (found["correct"], found["images"], found["classes"]) == (100, 100, 10)
    assert learner.memory.classes() == list(first.labels)
    assert learner.n_candidates > 0


def test_true_poses_need_no_search() -> None:
    learner, task = make(TruePose, 0), STREAM.task(0)
    learner.given = true_poses(task.test)
    assert count(learner, memory_of(task.exemplars), task.test, search=False)["correct"] > 97


def test_a_result_is_finished_with_its_last_point() -> None:
    assert not is_finished({"points": [{"tasks": 400}]})
    assert is_finished({"points": [{"tasks": 400}, {"tasks": 500}]})


def test_the_share_of_an_object_that_an_occluder_hides() -> None:
    clean = np.full((2, 10, 10), 100, np.uint8)
    clean[:, 2:6, 2:7] = 200  # 20 pixels
    images = clean.copy()
    images[0, 2:6, :4] = 50  # hides 8 of them, and background
    np.testing.assert_allclose(hidden_shares(images, clean), [0.4, 0])


def test_answers_are_counted_by_the_hidden_share() -> None:
    learner, task = make(TruePose, 0), STREAM.task(0)
    learner.memory.add(task.exemplars)
    learner.given = true_poses(task.test)
    learner.n_candidates = 0
    hidden = np.linspace(0, 1, len(task.test))
    row = answers(learner, task.test, hidden)
    assert [part["images"] for part in row["hidden"]] == [1, 24, 25, 50]
    assert sum(part["correct"] for part in row["hidden"]) == row["correct"]
    assert "hidden" not in answers(learner, task.test)


def test_a_warp_depends_on_the_image_only() -> None:
    batch = STREAM.task(0).test[:4]
    warp = warping("bending", 0.1)
    np.testing.assert_array_equal(warp(batch).images[2:], warp(batch[2:]).images)
    assert (warp(batch).images != batch.images).any()
    for same in (warping("bending", 0.0), warping("noise", 0.1)):
        assert same(batch) is batch


def test_variants_share_network_and_memory() -> None:
    trained = make(DCL, 0, width=8)
    trained.memory.add(STREAM.task(0).exemplars)
    trained.n_steps = 7
    robust = variant(DCL, width=8, **ROBUST)(0, trained, make(NearestMeanImage, 0))
    assert isinstance(robust, DCL)
    assert robust.n_steps == 7
    assert robust.memory.classes() == trained.memory.classes()
    assert (robust.residual, trained.residual) == ("robust", "squared")
