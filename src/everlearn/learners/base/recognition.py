"""Which remembered picture is it, and how well does it fit?"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from everlearn.chance import IntArray
from everlearn.memory import ExemplarMemory
from everlearn.memory.lookup import Lookup
from everlearn.networks import to_tensor
from everlearn.networks.alignment import fit_all
from everlearn.networks.similarity import inverse
from everlearn.networks.warp import normalise, to_pictures
from everlearn.streams.batch import Images

Misfits = npt.NDArray[np.float64]

FEW = 5
"""Candidates in the first round, which settles most images."""
SURE = 0.25
"""An answer stands if its misfit is below this share of its rival's."""


@dataclass(frozen=True)
class Recognition:
    """What was recognised in n pictures.

    Attributes:
        labels: (n,) the class of the remembered picture that fits best.
        poses: (n, 4) the pose in which it fits.
        misfits: (n,) squared differences that remain, summed over pixels.
        rivals: (n,) the same for the best picture of any other class; infinite where there is none.
    """

    labels: IntArray
    poses: npt.NDArray[np.float64]
    misfits: Misfits
    rivals: Misfits

    def __getitem__(self, rows: IntArray) -> "Recognition":
        return Recognition(self.labels[rows], self.poses[rows], self.misfits[rows], self.rivals[rows])

    def or_better(self, other: "Recognition") -> "Recognition":
        """The better of two tries on the same pictures; a rival is of another class than the answer."""
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
        """What there is in no pictures."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0), np.zeros(0))

    @classmethod
    def concatenate(cls, parts: Sequence["Recognition"]) -> Self:
        """Several, one after another."""
        return cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})


def nearest(images: Images, poses: Tensor, memory: ExemplarMemory, lookup: Lookup) -> Recognition:
    """The nearest remembered picture to the normalised one, pixel by pixel."""
    rows, distances = lookup.nearest(_normalised(images, poses), 2)
    return decide(memory.labels[rows], distances, poses.double().numpy())


def recognise(
    images: Images,
    poses: Tensor,
    memory: ExemplarMemory,
    lookup: Lookup,
    *,
    candidates: int,
    rounds: int,
) -> Recognition:
    """The remembered picture that fits best once each candidate was moved to where it fits best.

    The pose found with the best candidate is better than the one given, even if the candidate is wrong; so
    where a few candidates leave doubt the memory is asked again with it, for more that are nearer the truth.
    """
    found = _try(images, poses, memory, lookup, min(FEW, candidates))
    for _ in range(rounds - 1):
        doubtful = np.flatnonzero(found.misfits > SURE * found.rivals)
        if not len(doubtful):
            break
        better = torch.from_numpy(found.poses[doubtful]).float()
        again = _try(images[doubtful], better, memory, lookup, candidates)
        found.replace(doubtful, found[doubtful].or_better(again))
    return found


def _try(images: Images, poses: Tensor, memory: ExemplarMemory, lookup: Lookup, k: int) -> Recognition:
    """Fit the k likeliest candidates to each image."""
    rows = lookup.candidates(_normalised(images, poses), k)
    misfits, poses = _fit(images, memory, rows, poses)
    return decide(memory.labels[rows], misfits, poses.numpy())


def _normalised(images: Images, poses: Tensor) -> npt.NDArray[np.float32]:
    return to_pictures(normalise(to_tensor(images), poses))


def _fit(images: Images, memory: ExemplarMemory, rows: IntArray, poses: Tensor) -> tuple[Misfits, Tensor]:
    """Fit candidates (n, k) to the pictures; the misfit of each, and the pose of the best."""
    H, W = images.shape[1:3]
    misfits, best = np.empty(rows.shape), np.empty((len(images), 4))
    pictures, remembered = images.reshape(len(images), H, W, -1), memory.images.reshape(len(memory), H, W, -1)
    fit_all(pictures, remembered, rows, inverse(poses).double().numpy(), misfits, best)
    return misfits, inverse(torch.from_numpy(best))


def decide(labels: IntArray, misfits: Misfits, poses: npt.NDArray[np.float64]) -> Recognition:
    """The best of the candidates (n, k), and the best of those of another class."""
    best = misfits.argmin(axis=1)[:, None]
    answers = np.take_along_axis(labels, best, 1)
    rivals = np.where(labels == answers, np.inf, misfits).min(axis=1)
    return Recognition(answers[:, 0], poses, np.take_along_axis(misfits, best, 1)[:, 0], rivals)
