"""Classification by the nearest mean feature of stored images, for learners with a replay buffer."""

from collections.abc import Callable

import numpy as np

from everlearn.memory import ReplayBuffer
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.stream import Images


class StoredMeans:
    """Predicts the label whose stored images have the nearest mean feature; features are normalized.

    Means are computed when they are first needed, and again after `clear`.

    Args:
        buffer: the stored images.
        features: the features (n, d) of images under the current network.

    Example:
        >>> from everlearn.memory import Reservoir
        >>> from everlearn.streams import Batch
        >>> buffer = Reservoir(capacity=5)
        >>> buffer.add(Batch(np.eye(2, dtype=np.uint8).reshape(2, 1, 2), np.array([7, 9])))
        >>> means = StoredMeans(buffer, lambda images: images.reshape(-1, 2).astype(np.float64))
        >>> means.predict(np.array([[[1, 5]]], np.uint8))
        array([9])
    """

    def __init__(self, buffer: ReplayBuffer, features: Callable[[Images], FloatArray]) -> None:
        self.buffer, self.features = buffer, features
        self._means: FloatArray | None = None

    def clear(self) -> None:
        """Discard the means, because the network or the buffer has changed."""
        self._means = None

    def predict(self, images: Images) -> IntArray:
        """The label of the nearest mean; -1 while nothing is stored."""
        if not len(self.buffer):
            return np.full(len(images), -1, np.int64)
        similarities = self.unit_features(images) @ self.means().T
        return np.asarray(np.array(self.buffer.labels(), np.int64)[similarities.argmax(1)])

    def means(self) -> FloatArray:
        """The normalized mean feature of each stored label, in the order of labels."""
        if self._means is None:
            means = [self.unit_features(self.buffer.of(k).images).mean(0) for k in self.buffer.labels()]
            self._means = normalize(np.stack(means))
        return self._means

    def unit_features(self, images: Images) -> FloatArray:
        """Features of images, normalized to length 1."""
        return normalize(self.features(images))


def normalize(vectors: FloatArray) -> FloatArray:
    """Vectors (n, d) of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))
