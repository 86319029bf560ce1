"""Runs that show what the pose network is for: counts with another memory, true poses, finished results."""

from benchmarks.network_runs import TruePose, count, is_finished, make, memory_of, true_poses

from everlearn.learners.dcl import DCL
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
