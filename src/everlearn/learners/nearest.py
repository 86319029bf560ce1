"""Pixel matching: what can be had without learning anything general."""

import math

import numpy as np

from everlearn.learners.base import Footprint, Learner, Losses, State
from everlearn.memory.table import AnyArray, Rows
from everlearn.rng import IntArray
from everlearn.streams import Batch
from everlearn.streams.stream import Images

STEPS = 16
"""Parts of a gray level to which averages are rounded: whole numbers add up exactly in any order."""

AT_ONCE = 256
"""Classes compared at a time, so that answering needs the same room however many there are."""


class Nearest(Learner):
    """Answer with the class whose average image is nearest, pixel by pixel.

    No network and nothing to forget: each class is its mean image, and a class never touches another.
    It is the floor for methods that keep images, and the measure of what the pose of things costs:
    expect it to do well where things stand still and poorly where they move.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: not used; nothing is left to chance.

    Example:
        >>> learner = Nearest.tiny()
        >>> white, black = np.full((1, 16, 16), 255, np.uint8), np.zeros((1, 16, 16), np.uint8)
        >>> _ = learner.learn(Batch(np.concatenate([white, black]), np.array([7, 4])))
        >>> learner.predict(np.full((1, 16, 16), 200, np.uint8))
        array([7])
    """

    def __init__(self, *, image_shape: tuple[int, ...] = (64, 64), seed: int = 0) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        self._rows = Rows()
        self._row_of: dict[int, int] = {}

    def learn(self, batch: Batch) -> Losses:
        """Add the images to the sums of their classes."""
        images = self._flat(batch.images)
        rows, own = np.unique(self._rows_for(batch.labels), return_inverse=True)
        sums, counts = self._rows["sums"][rows], self._rows["counts"][rows]
        np.add.at(sums, own, images)
        np.add.at(counts, own, 1)
        self._rows.overwrite(rows, {"sums": sums, "counts": counts})
        self.flops += float(images.size)
        distance = np.abs(_means(sums, counts)[own] - STEPS * images.astype(np.float64)).sum()
        return {"distance": float(distance) / (255 * STEPS * images.size)}

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The class with the smallest squared distance; the first of equals."""
        given = self._flat(images).astype(np.float64)
        answers, least = np.full(len(images), -1, np.int64), np.full(len(images), np.inf)
        for start in range(0, len(self._rows), AT_ONCE):
            labels, distances = self._distances(given, slice(start, start + AT_ONCE))
            nearer = distances.min(1) < least
            answers[nearer] = labels[distances[nearer].argmin(1)]
            least[nearer] = distances[nearer].min(1)
        return answers

    def state(self) -> State:
        """The sums and counts."""
        return {"rows": self._rows.state(), "flops": self.flops}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self._rows.load(state["rows"])
        self._row_of = (
            {int(label): row for row, label in enumerate(self._rows["labels"])} if self._rows else {}
        )
        self.flops = state["flops"]

    def footprint(self) -> Footprint:
        """The bytes of the averages."""
        return Footprint(weights=0, memory=self._rows.used_bytes)

    def _distances(self, given: AnyArray, some: slice) -> tuple[IntArray, AnyArray]:
        """The labels of some classes, and how far they are from each image: |x - m|² without |x|²."""
        means = _means(self._rows["sums"][some], self._rows["counts"][some])
        return self._rows["labels"][some], (means * means).sum(1) - 2 * STEPS * (given @ means.T)

    def _flat(self, images: Images) -> Images:
        return images.reshape(len(images), math.prod(self.image_shape))

    def _rows_for(self, labels: IntArray) -> IntArray:
        """The row of each label; new labels get a new row."""
        new = [label for label in dict.fromkeys(labels.tolist()) if label not in self._row_of]
        self._row_of |= {label: len(self._rows) + i for i, label in enumerate(new)}
        sums, counts = (
            np.zeros((len(new), math.prod(self.image_shape)), np.int64),
            np.zeros(len(new), np.int64),
        )
        self._rows.append({"labels": np.array(new, np.int64), "sums": sums, "counts": counts})
        return np.array([self._row_of[label] for label in labels.tolist()], np.int64)


def _means(sums: AnyArray, counts: AnyArray) -> AnyArray:
    """Average images in whole STEPS of a gray level, as floats that hold them exactly."""
    return np.asarray(STEPS * sums // np.maximum(counts, 1)[:, None], np.float64)
