import numpy as np

from everlearn.learners.nearest_mean_image import CHUNK_SIZE, GRAIN, NearestMeanImage
from everlearn.rng import rng_at
from everlearn.streams import Batch

N_CLASSES = 2 * CHUNK_SIZE + 7


def random_images(n: int, seed: int) -> np.ndarray:
    """Of two gray levels and four pixels, so that many are equally far from several classes."""
    return (80 * rng_at(seed, "images").integers(4 * n, 2)).astype(np.uint8).reshape(n, 2, 2)


def trained() -> tuple[NearestMeanImage, np.ndarray, np.ndarray]:
    """A learner that met each class three times, in any order, and what it was shown."""
    labels = np.repeat(np.arange(N_CLASSES), 3)[rng_at(0, "order").permutation(3 * N_CLASSES)]
    images, learner = random_images(len(labels), seed=1), NearestMeanImage(image_shape=(2, 2))
    for start in range(0, len(labels), 50):
        learner.learn(Batch(images[start : start + 50], labels[start : start + 50]))
    return learner, images, labels


def test_prediction_is_the_nearest_mean_and_the_first_of_equals() -> None:
    learner, images, labels = trained()
    classes = list(dict.fromkeys(labels.tolist()))
    sums = [images[labels == label].astype(int).sum(0).ravel() for label in classes]
    for image, label in zip(test := random_images(40, seed=2), learner.predict(test), strict=True):
        distances = [
            int(((GRAIN * total // 3 - GRAIN * image.ravel().astype(int)) ** 2).sum()) for total in sums
        ]
        assert label == classes[int(np.argmin(distances))]
