"""Descriptors of the exemplars of a memory in several views, and the search for the most similar classes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from everlearn.memory import ExemplarMemory
from everlearn.memory.search import smallest
from everlearn.networks import pose
from everlearn.rng import IntArray
from everlearn.streams.stream import Images

Descriptors = npt.NDArray[np.float32]


VIEWS_PER_CLASS = 3
"""Views of a class that are candidates: the most similar one may have a wrong angle."""


class Views(NamedTuple):
    """Views of images."""

    descriptors: Descriptors  # (n, n_features) unit vectors
    rows: IntArray  # (n,) the image of each view
    poses: Tensor  # (n, 4) from the view to the image


NO_VIEWS = Views(np.zeros((0, 0), np.float32), np.zeros(0, np.int64), torch.zeros(0, 4))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The most similar views of some classes, most similar class first; m candidates of each image.

    Attributes:
        rows: (n, m) exemplars, as rows of the memory.
        views: (n, m) views of them.
        similarities: (n, m) dot products of descriptors.
    """

    rows: IntArray
    views: IntArray
    similarities: npt.NDArray[np.float64]


class FeatureIndex:
    """The views of all images of a memory; an update describes only images that have changed.

    Args:
        describe: the function that computes the views of images.

    Example:
        >>> from everlearn.streams import Batch
        >>> def mean_levels(images):
        ...     levels = images.mean(axis=(1, 2))
        ...     vectors = np.stack([levels, 255 - levels], axis=1) / 255
        ...     return Views(vectors.astype(np.float32), np.arange(len(images)), torch.ones(len(images), 4))
        >>> memory, index = ExemplarMemory(), FeatureIndex(mean_levels)
        >>> black_and_white = np.stack([np.zeros((4, 4), np.uint8), np.full((4, 4), 255, np.uint8)])
        >>> memory.add(Batch(black_and_white, np.array([3, 7])))
        >>> index.update(memory)
        >>> memory.labels[index.nearest(np.array([[0.9, 0.1]], np.float32), memory.labels, 2).rows]
        array([[7, 7, 7, 3, 3, 3]])
    """

    def __init__(self, describe: Callable[[Images], Views]) -> None:
        self.describe = describe
        self._memory, self._version = ExemplarMemory(), -1
        self.views = NO_VIEWS

    def update(self, memory: ExemplarMemory) -> None:
        """Describe the images that changed since the last call."""
        if memory is not self._memory or memory.version < self._version:
            self._memory, self._version, self.views = memory, -1, NO_VIEWS
        if memory.version == self._version:
            return
        changed = memory.changed_since(self._version)
        parts = [_without(self.views, changed, len(memory))]
        if len(changed):
            new = self.describe(memory.images[changed])
            parts.append(new._replace(rows=changed[new.rows]))
        parts = [part for part in parts if len(part.rows)] or [NO_VIEWS]
        # New arrays, so that no data of a removed image stays.
        self.views = Views(
            np.concatenate([part.descriptors for part in parts]),
            np.concatenate([part.rows for part in parts]),
            torch.cat([part.poses for part in parts]),
        )
        self._version = memory.version

    def nearest(self, descriptors: Descriptors, labels: IntArray, k: int) -> Candidates:
        """The most similar views of the k most similar classes, given the label of each row of the memory."""
        similarities = descriptors @ self.views.descriptors.T
        classes, which = np.unique(labels[self.views.rows], return_inverse=True)
        of_classes = np.empty((len(descriptors), len(classes), VIEWS_PER_CLASS), np.int64)
        for number in range(len(classes)):
            of_class = np.flatnonzero(which == number)
            best = smallest(-similarities[:, of_class], min(VIEWS_PER_CLASS, len(of_class)))
            of_classes[:, number] = of_class[best[:, :1]]  # repeated if there are fewer
            of_classes[:, number, : best.shape[1]] = of_class[best]
        firsts = np.take_along_axis(similarities, of_classes[:, :, 0], 1)
        chosen = smallest(-firsts, min(k, len(classes)))
        views = np.take_along_axis(of_classes, chosen[:, :, None], 1).reshape(len(descriptors), -1)
        values = np.take_along_axis(similarities, views, 1).astype(np.float64)
        return Candidates(self.views.rows[views], views, values)

    def poses(self, frames: Tensor, views: IntArray) -> Tensor:
        """Poses (n, m, 4) of exemplars in images, if views (n, m) of them look like the frames (n, 4)."""
        n, m = views.shape
        inner = pose.inverse(self.views.poses[torch.from_numpy(views.reshape(-1))])
        return pose.compose(frames.repeat_interleave(m, 0), inner).reshape(n, m, 4)


def _without(views: Views, changed: IntArray, n_rows: int) -> Views:
    """The views of images that are neither changed nor removed."""
    kept = ~np.isin(views.rows, changed) & (views.rows < n_rows)
    return Views(views.descriptors[kept], views.rows[kept], views.poses[torch.from_numpy(kept)])
