import numpy as np
import torch

from everlearn.learners.base.teacher import Teacher
from everlearn.learners.naive import Naive
from everlearn.networks import to_tensor
from everlearn.serialization import digest
from everlearn.streams import sprites

TASKS = [sprites(image_size=16, classes_per_task=3, factor_values=2).task(k) for k in range(2)]
IMAGES = to_tensor(TASKS[0].test.images)


def taught() -> Naive:
    learner = Naive.tiny()
    for batch in TASKS[0].train.pieces(16):
        learner.learn(batch)
    return learner


def test_it_answers_as_the_network_did() -> None:
    learner = taught()
    with torch.no_grad():
        said = learner.head(learner.body.eval()(IMAGES))
    teacher = Teacher(learner.body, learner.head)
    for batch in TASKS[1].train.pieces(16):
        learner.learn(batch)
    assert torch.equal(teacher(IMAGES), said)
    assert said.shape[1] == teacher.n_labels == 3


def test_being_asked_changes_nothing() -> None:
    learner = taught()
    teacher = Teacher(learner.body, learner.head)
    before = digest(teacher.state())
    teacher(to_tensor(TASKS[1].train.images))
    assert digest(teacher.state()) == before
    assert not teacher(IMAGES).requires_grad


def test_it_survives_being_saved_though_the_head_has_grown() -> None:
    learner = taught()
    teacher = Teacher(learner.body, learner.head)
    learner.admit(np.arange(1000, 1040))
    other = Teacher.loaded(learner.body, learner.head, teacher.state())
    assert torch.equal(other(IMAGES), teacher(IMAGES))
    assert other.nbytes == teacher.nbytes
