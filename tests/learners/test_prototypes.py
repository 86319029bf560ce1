import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.learners.prototypes import Prototypes
from everlearn.serialization import digest
from everlearn.streams import Stream, sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)


def play(learner: Prototypes, stream: Stream, *tasks: int) -> Prototypes:
    for k in tasks:
        view = stream.task(k).for_learner()
        learner.begin(view)
        for batch in view.train.shuffled(0, k).batches(8):
            learner.learn(batch)
        learner.end(view)
    return learner


def test_the_nearest_mean_answers() -> None:
    """Two classes at (0, 0, ...) and (4, 0, ...): the border lies at 2."""
    learner = Prototypes(image_shape=(16, 16), trained_tasks=0)
    features = np.zeros((4, 256))
    features[:, 0] = [-1, 1, 3, 5]
    learner.gather(features, np.array([7, 7, 2, 2]))
    asked = np.zeros((3, 256))
    asked[:, 0] = [-9, 1.99, 2.01]
    assert learner.decide(asked).tolist() == [7, 7, 2]


def test_the_network_is_frozen_after_the_first_task() -> None:
    learner = Prototypes.tiny()
    before = digest({"body": learner.state()["body"]})
    play(learner, STREAM, 0)
    frozen = digest({"body": learner.state()["body"]})
    assert frozen != before
    play(learner, STREAM, 1, 2)
    assert digest({"body": learner.state()["body"]}) == frozen
    assert learner.state()["optimiser"] == {}
    assert sorted(learner.sums.labels.tolist()) == list(range(9))


def test_images_of_the_first_task_are_counted_once_when_it_ends() -> None:
    learner = play(Prototypes.tiny(), STREAM, 0)
    labels, counts = np.unique(STREAM.task(0).train.labels, return_counts=True)
    found = dict(zip(learner.sums.labels.tolist(), learner.sums.counts.tolist(), strict=True))
    assert found == dict(zip(labels.tolist(), counts.tolist(), strict=True))


def test_two_clients_merge_into_the_one_who_saw_it_all() -> None:
    start = play(Prototypes.tiny(), STREAM, 0).state()
    one, other, all_ = Prototypes.tiny(), Prototypes.tiny(), Prototypes.tiny()
    for learner in (one, other, all_):
        learner.load(start)
    other.sums = Prototypes.tiny().sums  # the second client brings only what is new
    play(one, STREAM, 1)
    play(other, STREAM, 2)
    play(all_, STREAM, 1, 2)
    one.merge(other)
    for ours, expected in zip(one.sums.state().items(), all_.sums.state().items(), strict=True):
        np.testing.assert_array_equal(ours[1], expected[1])
    images = STREAM.eval_sample(3, 50).images
    assert (one.predict(images) == all_.predict(images)).all()


def test_different_networks_do_not_merge() -> None:
    one, other = (Prototypes(image_shape=(16, 16), seed=seed, trained_tasks=0) for seed in (0, 1))
    with pytest.raises(BadInput, match="networks differ"):
        one.merge(other)
    with pytest.raises(BadInput, match="still learning"):
        Prototypes.tiny().merge(Prototypes.tiny())
