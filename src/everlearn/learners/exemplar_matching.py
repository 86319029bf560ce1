"""Matching images to stored exemplars: candidates, alignment, novelty scores."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from everlearn.factors import Factors
from everlearn.learners.base import Footprint, Names, Stateful
from everlearn.memory import ExemplarMemory
from everlearn.memory.search import NearestIndex, smallest
from everlearn.networks import to_tensor
from everlearn.networks.alignment import align_candidates
from everlearn.networks.pose import (
    compose,
    factors_from_poses,
    inverse,
    poses_from_factors,
    similarity,
    to_canonical,
    to_images,
    to_uint8,
)
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

Residuals = npt.NDArray[np.float64]

MATCH_BATCH = 256
"""Images matched together."""
CACHED_BATCHES = 16
"""Batches whose matches are cached: labels, poses and novelty of the same images are often asked in turn."""
FIRST_CANDIDATES = 8
"""Candidates per angle in the first search round, which is enough for most images."""
SCALE_FACTOR = 1.09
"""Ratio of neighboring scales in the search: about the scale error of the network on unseen shapes."""
CERTAIN_RATIO = 0.25
"""A match is accepted without another search round if its residual is below this share of the runner-up's."""
CALIBRATION_IMAGES = 32
"""Images per task on which novelty scores of known classes are measured."""
MAX_CALIBRATION_RATIO = 0.9
"""Matches with a higher residual ratio are not used for calibration: they may be right by chance."""
MAX_CALIBRATION_SCORES = 512
FALSE_ALARM_RATE = 0.01
"""Share of known images whose novelty exceeds 0.5."""
INITIAL_NOVELTY = 0.005
"""Novelty score that 1 in 100 known sprites exceeds; used before calibration."""


@dataclass(frozen=True)
class Match:
    """The best exemplar of n images.

    Attributes:
        labels: (n,) class of the exemplar.
        poses: (n, 4) pose in which it matches.
        residuals: (n,) sum of squared pixel differences.
        runner_up_residuals: (n,) the same for the best exemplar of another class; infinite if there is none.
    """

    labels: IntArray
    poses: npt.NDArray[np.float64]
    residuals: Residuals
    runner_up_residuals: Residuals

    def __getitem__(self, rows: IntArray) -> "Match":
        return Match(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def best_of(self, other: "Match") -> "Match":
        """The better of two matches of the same images; the runner-up is of another class than the best."""
        better, same = other.residuals < self.residuals, other.labels == self.labels
        first, second = self.runner_up_residuals, other.runner_up_residuals
        worse = np.where(same, np.minimum(first, second), np.maximum(self.residuals, other.residuals))
        return Match(
            np.where(better, other.labels, self.labels),
            np.where(better[:, None], other.poses, self.poses),
            np.minimum(self.residuals, other.residuals),
            np.minimum(worse, np.where(better, second, first)),
        )

    def replace(self, rows: IntArray, other: "Match") -> None:
        """Overwrite some rows."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(other, f.name)

    @property
    def ratios(self) -> Residuals:
        """(n,) residual as a share of the runner-up's, the paper's novelty score; 1 without a runner-up."""
        runner_up = self.runner_up_residuals
        return np.where(np.isinf(runner_up), 1.0, self.residuals / np.maximum(runner_up, 1e-9))

    @classmethod
    def concatenate(cls, matches: Sequence["Match"]) -> Self:
        """Matches of several batches."""
        empty = cls(np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0), np.zeros(0))
        return cls(
            **{f.name: np.concatenate([getattr(m, f.name) for m in (empty, *matches)]) for f in fields(cls)}
        )

    @classmethod
    def of_candidates(cls, labels: IntArray, residuals: Residuals, poses: npt.NDArray[np.float64]) -> Self:
        """The candidate (n, k) with the smallest residual, and the best one of another class."""
        best = residuals.argmin(axis=1)[:, None]
        answers = np.take_along_axis(labels, best, 1)
        runner_up = np.where(labels == answers, np.inf, residuals).min(axis=1)
        return cls(answers[:, 0], poses, np.take_along_axis(residuals, best, 1)[:, 0], runner_up)


class ExemplarMatcher(Stateful):
    """An exemplar memory, its nearest-neighbor index, and novelty scores calibrated on known classes.

    Args:
        match: matches images to the exemplars; `index` is up to date and not empty.
        novelty_scores: scores how badly matches fit, from 0 up.
        block: pooling size of the index; 1 compares whole images.
    """

    parts: ClassVar[Names] = ("memory", "known_scores")

    def __init__(
        self,
        match: Callable[[Images], Match],
        novelty_scores: Callable[[Match, Images], Residuals],
        block: int,
    ) -> None:
        self.memory = ExemplarMemory()
        self.index = NearestIndex(block=block)
        self.known_scores: Residuals = np.zeros(0)
        self._match, self._novelty_scores = match, novelty_scores
        self._cache: dict[bytes, Match] = {}

    def add_exemplars(self, exemplars: Batch) -> None:
        """Store the exemplars that are not in the memory yet."""
        pairs = zip(exemplars.images, exemplars.labels.tolist(), strict=True)
        new = [not self._contains(label, image) for image, label in pairs]
        self.memory.add(exemplars[np.array(new, bool)])

    def add_first_images(self, batch: Batch) -> None:
        """Store the first image of classes without exemplar, warped to the canonical frame if possible."""
        labels, first = np.unique(batch.labels, return_index=True)
        new = np.sort(first[[label not in self.memory for label in labels.tolist()]])
        if not len(new):
            return
        some = batch[new]
        if some.factors is not None:
            canonical = to_canonical(to_tensor(some.images), poses_from_factors(some.factors))
            some = Batch(to_uint8(canonical), some.labels)
        self.memory.add(some)

    def calibrate(self, task: TaskView, seed: int) -> None:
        """Measure the novelty scores of known classes on validation images (or training images)."""
        if not len(self.memory):
            return
        some = (task.val if len(task.val) else task.train).shuffled(seed, task.index)[:CALIBRATION_IMAGES]
        match = self.match(some.images)
        correct = (match.labels == some.labels) & (match.ratios < MAX_CALIBRATION_RATIO)
        scores = self._novelty_scores(match, some.images)[correct]
        self.known_scores = np.concatenate([self.known_scores, scores])[-MAX_CALIBRATION_SCORES:]

    def predict(self, images: Images, *, reject: bool = False) -> IntArray:
        """Labels of the best exemplars; -1 if the memory is empty or, with `reject`, for unknown classes."""
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        labels = self.match(images).labels
        return np.where(self.novelty(images) > 0.5, -1, labels) if reject else labels

    def novelty(self, images: Images) -> Residuals:
        """Novelty from 0 to 1; about 1 in 100 images of known classes exceeds 0.5."""
        if not len(self.memory):
            return np.ones(len(images))
        known = self.known_scores
        limit = float(np.quantile(known, 1 - FALSE_ALARM_RATE)) if len(known) else INITIAL_NOVELTY
        scores = self._novelty_scores(self.match(images), images)
        return scores / (scores + max(limit, 1e-9))

    def estimate(self, images: Images) -> Factors:
        """The factors of the matched poses."""
        if not len(self.memory):
            return Factors.canonical(len(images))
        return factors_from_poses(torch.from_numpy(self.match(images).poses))

    def match(self, images: Images) -> Match:
        """Match images in batches, with a cache."""
        self.update_index()
        starts = range(0, len(images), MATCH_BATCH)
        return Match.concatenate([self._cached(images[start : start + MATCH_BATCH]) for start in starts])

    def nearest(self, images: Images, k: int) -> tuple[IntArray, Residuals]:
        """Rows of the exemplars nearest to images in their matched poses, and residuals after alignment."""
        poses = poses_from_factors(self.estimate(images))
        rows, _ = self.index.candidates(_canonical(images, poses), k)
        starts = poses[:, None].expand(-1, rows.shape[1], -1)
        return rows, _align(images, self.memory, rows, starts)[0]

    def update_index(self) -> None:
        """Index the changes of the memory since the last call."""
        if self.index.update(self.memory):
            self.clear_cache()

    def clear_cache(self) -> None:
        """Forget cached matches, after the network or the memory has changed."""
        self._cache.clear()

    def on_load(self) -> None:
        self.index = NearestIndex(block=self.index.block)
        self.clear_cache()

    def footprint(self) -> Footprint:
        return Footprint(memory=self.memory.nbytes)

    def _cached(self, images: Images) -> Match:
        key = hashlib.blake2b(np.ascontiguousarray(images).data).digest()
        if key not in self._cache:
            if len(self._cache) == CACHED_BATCHES:
                self._cache.pop(next(iter(self._cache)))
            self._cache[key] = self._match(images)
        return self._cache[key]

    def _contains(self, label: int, image: Images) -> bool:
        return label in self.memory and any(
            np.array_equal(image, exemplar) for exemplar in self.memory.images_of(label)
        )


def match_nearest(images: Images, poses: Tensor, memory: ExemplarMemory, index: NearestIndex) -> Match:
    """The nearest exemplar in pixel space after warping to the canonical frame."""
    rows, distances = index.nearest(_canonical(images, poses), 2)
    return Match.of_candidates(memory.labels[rows], distances, poses.double().numpy())


def match_aligned(
    images: Images,
    poses: Tensor,
    memory: ExemplarMemory,
    index: NearestIndex,
    *,
    n_candidates: int,
    n_search_rounds: int = 1,
    n_angles: int = 1,
    n_scales: int = 1,
) -> Match:
    """The exemplar with the smallest residual after aligning each candidate to the image.

    The aligned pose of the best candidate is better than the given pose, even if the candidate is wrong. So
    images without a certain match are searched again from that pose, with more candidates.

    Args:
        images: (n, H, W[, 3]).
        poses: (n, 4) predicted poses.
        memory: the exemplars.
        index: the memory's index, up to date.
        n_candidates: exemplars aligned to an image in each search round after the first.
        n_search_rounds: how often the index is searched.
        n_angles: angles searched, spread over the full circle.
        n_scales: scales searched after the first round.
    """
    first = min(FIRST_CANDIDATES * n_angles, n_candidates)
    match = _search(images, poses, memory, index, first, search_grid(n_angles, 1))
    for _ in range(n_search_rounds - 1):
        uncertain = np.flatnonzero(match.residuals > CERTAIN_RATIO * match.runner_up_residuals)
        if not len(uncertain):
            break
        aligned = torch.from_numpy(match.poses[uncertain]).float()
        grid = search_grid(n_angles, n_scales)
        again = _search(images[uncertain], aligned, memory, index, n_candidates, grid)
        match.replace(uncertain, match[uncertain].best_of(again))
    return match


def search_grid(n_angles: int, n_scales: int) -> Tensor:
    """Pose changes (n_angles * n_scales, 4): angles over the full circle, scales around 1.

    Example:
        >>> search_grid(1, 3)[:, 0]
        tensor([0.9174, 1.0000, 1.0900])
    """
    angle = (torch.arange(n_angles) * (2 * torch.pi / n_angles)).repeat(n_scales)
    scale = (SCALE_FACTOR ** (torch.arange(n_scales) - (n_scales - 1) / 2)).repeat_interleave(n_angles)
    return similarity(scale, angle, torch.zeros_like(scale), torch.zeros_like(scale))


def _search(
    images: Images, poses: Tensor, memory: ExemplarMemory, index: NearestIndex, k: int, grid: Tensor
) -> Match:
    """Align the k most similar exemplars to each image."""
    rows, starts = _candidates(images, poses, index, k, grid)
    residuals, best = _align(images, memory, rows, starts)
    return Match.of_candidates(memory.labels[rows], residuals, best)


def _align(
    images: Images, memory: ExemplarMemory, rows: IntArray, poses: Tensor
) -> tuple[Residuals, npt.NDArray[np.float64]]:
    """Align exemplars (n, k) from poses (n, k, 4); returns residuals (n, k) and poses of the best (n, 4)."""
    n, (H, W) = len(images), images.shape[1:3]
    residuals, best = np.empty(rows.shape), np.empty((n, 4))
    starts = inverse(poses.reshape(-1, 4)).double().reshape(*rows.shape, 4).numpy()
    exemplars = memory.images.reshape(len(memory), H, W, -1)
    align_candidates(images.reshape(n, H, W, -1), exemplars, rows, starts, residuals, best)
    return residuals, inverse(torch.from_numpy(best)).numpy()


def _candidates(
    images: Images, poses: Tensor, index: NearestIndex, k: int, grid: Tensor
) -> tuple[IntArray, Tensor]:
    """Rows (n, k) of the exemplars nearest to images in any pose of the grid, and the poses (n, k, 4)."""
    n, m = len(images), len(grid)
    tried = compose(poses.repeat_interleave(m, 0), grid.repeat(n, 1))
    rows, distances = index.candidates(_canonical(np.repeat(images, m, axis=0), tried), k)
    best = smallest(distances.reshape(n, -1), rows.shape[1])
    starts = tried.reshape(n, m, 4)[torch.arange(n)[:, None], torch.from_numpy(best // rows.shape[1])]
    return np.take_along_axis(rows.reshape(n, -1), best, 1), starts


def _canonical(images: Images, poses: Tensor) -> npt.NDArray[np.float32]:
    return to_images(to_canonical(to_tensor(images), poses))
