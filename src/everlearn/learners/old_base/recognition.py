"""Which remembered image is it, and how well does it fit?"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from everlearn.memory import ExemplarMemory
from everlearn.memory.search import Lookup, smallest
from everlearn.networks import to_tensor
from everlearn.networks.alignment import align_candidates
from everlearn.networks.pose import compose, inverse, similarity, to_canonical, to_images
from everlearn.rng import IntArray
from everlearn.streams.stream import Images

Misfits = npt.NDArray[np.float64]

FEW = 8
"""Candidates in the first round, which settles most images."""
LARGER = 1.09
"""The next size tried: about as far off as a network is in size where it has never seen the shape."""
SURE = 0.25
"""An answer stands if its misfit is below this share of its rival's."""


@dataclass(frozen=True)
class Recognition:
    """What was recognised in n images.

    Attributes:
        labels: (n,) the class of the remembered image that fits best.
        poses: (n, 4) the pose in which it fits.
        misfits: (n,) squared differences that remain, summed over pixels.
        rivals: (n,) the same for the best image of any other class; infinite where there is none.
    """

    labels: IntArray
    poses: npt.NDArray[np.float64]
    misfits: Misfits
    rivals: Misfits

    def __getitem__(self, rows: IntArray) -> "Recognition":
        return Recognition(self.labels[rows], self.poses[rows], self.misfits[rows], self.rivals[rows])

    def or_better(self, other: "Recognition") -> "Recognition":
        """The better of two tries on the same images; a rival is of another class than the answer."""
        better, same = other.misfits < self.misfits, other.labels == self.labels
        worse = np.where(same, np.minimum(self.rivals, other.rivals), np.maximum(self.misfits, other.misfits))
        return Recognition(
            np.where(better, other.labels, self.labels),
            np.where(better[:, None], other.poses, self.poses),
            np.minimum(self.misfits, other.misfits),
            np.minimum(worse, np.where(better, other.rivals, self.rivals)),
        )

    def replace(self, rows: IntArray, other: "Recognition") -> None:
        """Put what was found for some rows in their place."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(other, field.name)

    @property
    def ratios(self) -> Misfits:
        """(n,) the misfit as a share of the rival's, 1 where there is none: the paper's sign of novelty."""
        return np.where(np.isinf(self.rivals), 1.0, self.misfits / np.maximum(self.rivals, 1e-9))

    @classmethod
    def nothing(cls) -> Self:
        """What there is in no images."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0), np.zeros(0))

    @classmethod
    def concatenate(cls, parts: Sequence["Recognition"]) -> Self:
        """Several, one after another."""
        return cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})


def nearest(images: Images, poses: Tensor, memory: ExemplarMemory, lookup: Lookup) -> Recognition:
    """The nearest remembered image to the normalised one, pixel by pixel."""
    rows, distances = lookup.nearest(_normalised(images, poses), 2)
    return decide(memory.labels[rows], distances, poses.double().numpy())


def recognise(
    images: Images,
    poses: Tensor,
    memory: ExemplarMemory,
    lookup: Lookup,
    *,
    candidates: int,
    rounds: int = 1,
    turns: int = 1,
    sizes: int = 1,
) -> Recognition:
    """The remembered image that fits best once each candidate was moved to where it fits best.

    The pose found with the best candidate is better than the one given, even if the candidate is wrong; so
    where a few candidates leave doubt the memory is asked again with it, for more that are nearer the truth.

    Args:
        images: (n, H, W[, 3]) to recognise.
        poses: (n, 4) in which the things shown seem to be.
        memory: what is known.
        lookup: the memory's codes, up to date.
        candidates: remembered images fitted to an image in doubt.
        rounds: how often the memory is asked.
        turns: how many angles, spread over the full circle, are asked for each time.
        sizes: how many sizes are asked for where there is doubt.
    """
    found = _try(images, poses, memory, lookup, min(FEW * turns, candidates), around(turns, 1))
    for _ in range(rounds - 1):
        doubtful = np.flatnonzero(found.misfits > SURE * found.rivals)
        if not len(doubtful):
            break
        better = torch.from_numpy(found.poses[doubtful]).float()
        again = _try(images[doubtful], better, memory, lookup, candidates, around(turns, sizes))
        found.replace(doubtful, found[doubtful].or_better(again))
    return found


def around(turns: int, sizes: int) -> Tensor:
    """Changes of pose worth trying, (turns * sizes, 4): angles over the full circle, sizes about the first.

    Example:
        >>> around(1, 3)[:, 0]
        tensor([0.9174, 1.0000, 1.0900])
    """
    angle = (torch.arange(turns) * (2 * torch.pi / turns)).repeat(sizes)
    scale = (LARGER ** (torch.arange(sizes) - (sizes - 1) / 2)).repeat_interleave(turns)
    return similarity(scale, angle, torch.zeros_like(scale), torch.zeros_like(scale))


def _try(
    images: Images, poses: Tensor, memory: ExemplarMemory, lookup: Lookup, k: int, changes: Tensor
) -> Recognition:
    """Fit the k likeliest candidates to each image."""
    n, (H, W) = len(images), images.shape[1:3]
    rows, starts = _candidates(images, poses, lookup, k, changes)
    misfits, best = np.empty(rows.shape), np.empty((n, 4))
    ways = inverse(starts.reshape(-1, 4)).double().reshape(*rows.shape, 4).numpy()
    remembered = memory.images.reshape(len(memory), H, W, -1)
    align_candidates(images.reshape(n, H, W, -1), remembered, rows, ways, misfits, best)
    return decide(memory.labels[rows], misfits, inverse(torch.from_numpy(best)).numpy())


def _candidates(
    images: Images, poses: Tensor, lookup: Lookup, k: int, changes: Tensor
) -> tuple[IntArray, Tensor]:
    """The rows (n, k) of images like the images in their poses, or changed; and the poses (n, k, 4)."""
    n, m = len(images), len(changes)
    tried = compose(poses.repeat_interleave(m, 0), changes.repeat(n, 1))
    rows, distances = lookup.candidates(_normalised(np.repeat(images, m, axis=0), tried), k)
    best = smallest(distances.reshape(n, -1), rows.shape[1])
    starts = tried.reshape(n, m, 4)[torch.arange(n)[:, None], torch.from_numpy(best // rows.shape[1])]
    return np.take_along_axis(rows.reshape(n, -1), best, 1), starts


def _normalised(images: Images, poses: Tensor) -> npt.NDArray[np.float32]:
    return to_images(to_canonical(to_tensor(images), poses))


def decide(labels: IntArray, misfits: Misfits, poses: npt.NDArray[np.float64]) -> Recognition:
    """The best of the candidates (n, k), and the best of those of another class."""
    best = misfits.argmin(axis=1)[:, None]
    answers = np.take_along_axis(labels, best, 1)
    rivals = np.where(labels == answers, np.inf, misfits).min(axis=1)
    return Recognition(answers[:, 0], poses, np.take_along_axis(misfits, best, 1)[:, 0], rivals)
