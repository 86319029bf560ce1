import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.learners.ncm import NCM
from everlearn.serialization import digest
from everlearn.streams import Stream, sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)


def train(learner: NCM, stream: Stream, *tasks: int) -> NCM:
    for k in tasks:
        view = stream.task(k).for_learner()
        learner.begin(view)
        for batch in view.train.shuffled(0, k).batches(8):
            learner.learn(batch)
        learner.end(view)
    return learner


def test_prediction_is_the_nearest_mean() -> None:
    """Two classes at (0, 0, ...) and (4, 0, ...): the border lies at 2."""
    learner = NCM(image_shape=(16, 16), n_training_tasks=0)
    features = np.zeros((4, 256))
    features[:, 0] = [-1, 1, 3, 5]
    learner.add_features(features, np.array([7, 7, 2, 2]))
    test = np.zeros((3, 256))
    test[:, 0] = [-9, 1.99, 2.01]
    assert learner.classify(test).tolist() == [7, 7, 2]


def test_backbone_is_frozen_after_the_first_task() -> None:
    learner = NCM.tiny()
    before = digest(learner.state()["net"]["backbone"])
    train(learner, STREAM, 0)
    frozen = digest(learner.state()["net"]["backbone"])
    assert frozen != before
    train(learner, STREAM, 1, 2)
    assert digest(learner.state()["net"]["backbone"]) == frozen
    assert learner.state()["optim"] == {}
    assert sorted(learner.sums.labels.tolist()) == list(range(9))


def test_images_of_the_first_task_are_counted_once_when_it_ends() -> None:
    learner = train(NCM.tiny(), STREAM, 0)
    labels, counts = np.unique(STREAM.task(0).train.labels, return_counts=True)
    found = dict(zip(learner.sums.labels.tolist(), learner.sums.counts.tolist(), strict=True))
    assert found == dict(zip(labels.tolist(), counts.tolist(), strict=True))


def test_merged_learners_equal_one_that_saw_all_images() -> None:
    start = train(NCM.tiny(), STREAM, 0).state()
    one, other, all_ = NCM.tiny(), NCM.tiny(), NCM.tiny()
    for learner in (one, other, all_):
        learner.load(start)
    other.sums = NCM.tiny().sums  # the second client brings only what is new
    train(one, STREAM, 1)
    train(other, STREAM, 2)
    train(all_, STREAM, 1, 2)
    one.merge(other)
    for ours, expected in zip(one.sums.state().items(), all_.sums.state().items(), strict=True):
        np.testing.assert_array_equal(ours[1], expected[1])
    images = STREAM.eval_sample(3, 50).images
    assert (one.predict(images) == all_.predict(images)).all()


def test_different_backbones_do_not_merge() -> None:
    one, other = (NCM(image_shape=(16, 16), seed=seed, n_training_tasks=0) for seed in (0, 1))
    with pytest.raises(BadInput, match="backbones differ"):
        one.merge(other)
    with pytest.raises(BadInput, match="still being trained"):
        NCM.tiny().merge(NCM.tiny())
