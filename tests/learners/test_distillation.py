import numpy as np
import torch

from everlearn.learners.distillation import Teacher
from everlearn.learners.naive import Naive
from everlearn.networks import to_tensor
from everlearn.serialization import digest
from everlearn.streams import sprites

TASKS = [sprites(image_size=16, classes_per_task=3, factor_values=2).task(k) for k in range(2)]
IMAGES = to_tensor(TASKS[0].test.images)


def taught() -> Naive:
    learner = Naive.tiny()
    for batch in TASKS[0].train.batches(16):
        learner.learn(batch)
    return learner


def copied(learner: Naive) -> Teacher:
    teacher = Teacher(learner.net)
    teacher.update()
    return teacher


def test_teacher_does_not_change_with_the_student() -> None:
    learner = taught()
    with torch.no_grad():
        logits = learner.net.eval()(IMAGES)
    teacher = copied(learner)
    for batch in TASKS[1].train.batches(16):
        learner.learn(batch)
    assert torch.equal(teacher(IMAGES), logits)
    assert logits.shape[1] == teacher.n_labels == 3


def test_call_does_not_change_state() -> None:
    learner = taught()
    teacher = copied(learner)
    before = digest(teacher.state())
    teacher(to_tensor(TASKS[1].train.images))
    assert digest(teacher.state()) == before
    assert not teacher(IMAGES).requires_grad


def test_load_after_the_head_of_the_student_has_grown() -> None:
    learner = taught()
    teacher = copied(learner)
    learner.add_labels(np.arange(1000, 1040))
    other = Teacher(learner.net)
    other.load(teacher.state())
    assert torch.equal(other(IMAGES), teacher(IMAGES))
    assert other.footprint() == teacher.footprint()
