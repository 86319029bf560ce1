import numpy as np

from everlearn.learners.nearest import AT_ONCE, STEPS, Nearest
from everlearn.rng import rng_at
from everlearn.streams import Batch

N_CLASSES = 2 * AT_ONCE + 7


def random_images(n: int, seed: int) -> np.ndarray:
    """Of two gray levels and four pixels, so that many are equally far from several classes."""
    return (80 * rng_at(seed, "images").integers(4 * n, 2)).astype(np.uint8).reshape(n, 2, 2)


def taught() -> tuple[Nearest, np.ndarray, np.ndarray]:
    """A learner that met each class three times, in any order, and what it was shown."""
    labels = np.repeat(np.arange(N_CLASSES), 3)[rng_at(0, "order").permutation(3 * N_CLASSES)]
    images, learner = random_images(len(labels), seed=1), Nearest(image_shape=(2, 2))
    for start in range(0, len(labels), 50):
        learner.learn(Batch(images[start : start + 50], labels[start : start + 50]))
    return learner, images, labels


def test_the_nearest_average_wins_and_of_equals_the_one_met_first() -> None:
    learner, images, labels = taught()
    classes = list(dict.fromkeys(labels.tolist()))
    sums = [images[labels == label].astype(int).sum(0).ravel() for label in classes]
    for given, said in zip(asked := random_images(40, seed=2), learner.predict(asked), strict=True):
        distances = [
            int(((STEPS * total // 3 - STEPS * given.ravel().astype(int)) ** 2).sum()) for total in sums
        ]
        assert said == classes[int(np.argmin(distances))]


def test_before_learning_nothing_is_known() -> None:
    assert (Nearest(image_shape=(2, 2)).predict(random_images(3, seed=0)) == -1).all()


def test_no_image_gets_no_answer() -> None:
    assert taught()[0].predict(np.zeros((0, 2, 2), np.uint8)).shape == (0,)
