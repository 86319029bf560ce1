import numpy as np

from everlearn.learners.joint import CumulativeBudget, Joint

from .toy import FLAT, batch_of, view_of

TASKS = [batch_of([k, k + 10] * 12, number=k) for k in range(3)]


def steps(learner: Joint) -> list[int]:
    """Steps taken in each task."""
    taken = []
    for index, task in enumerate(TASKS):
        before = learner.n_steps
        learner.begin(view_of(task, index))
        for batch in task.batches(8):
            learner.learn(batch)
        learner.end(view_of(task, index))
        taken.append(learner.n_steps - before)
    return taken


def test_each_task_is_one_epoch_over_all_images_so_far() -> None:
    learner = Joint(**FLAT)
    assert steps(learner) == [3, 6, 9]
    assert learner.flops == 8 * (3 + 6 + 9) * 3 * learner.forward_flops


def test_cumulative_budget_takes_one_step_per_batch() -> None:
    assert steps(CumulativeBudget(**FLAT)) == [3, 3, 3]


def test_all_images_are_stored() -> None:
    for learner in (Joint(**FLAT), CumulativeBudget(**FLAT)):
        steps(learner)
        everything = np.concatenate([task.images for task in TASKS])
        np.testing.assert_array_equal(learner.buffer.everything().images, everything)
        assert learner.footprint().memory == len(everything) * (4 + 8)
