"""The base class of learners that match images to stored exemplars: search, alignment, novelty scores."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from everlearn.factors import Factors
from everlearn.learners.base import Learner
from everlearn.learners.image_comparison import ImageComparison, Residuals
from everlearn.learners.stateful import Footprint, Names, State, Stateful
from everlearn.memory import ExemplarMemory
from everlearn.memory.search import NearestIndex, smallest
from everlearn.networks import pose, to_tensor, torch_alignment
from everlearn.networks.alignment import align_candidates
from everlearn.networks.devices import to_device
from everlearn.rendering.render import default_threads, run_batches
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

ALIGN_BATCH = 16
"""Images that a thread aligns at a time."""
MATCH_BATCH = 256
"""Images matched together."""
CACHED_BATCHES = 16
"""Batches whose matches are cached, since labels, poses and novelty of the same images are often needed."""
CALIBRATION_IMAGES = 32
"""Images per task on which novelty scores of known classes are measured."""
MAX_CALIBRATION_RATIO = 0.9
"""Matches with a higher residual ratio are not used for calibration: they may be right by chance."""
MAX_CALIBRATION_SCORES = 512
UNRECORDED = -1
"""Class of novelty scores from states that were saved before classes were."""
FALSE_ALARM_RATE = 0.01
"""Share of known images whose novelty exceeds 0.5."""
INITIAL_NOVELTY = 0.005
"""Novelty score that 1 in 100 known sprites exceeds; used before calibration."""


@dataclass(frozen=True)
class ExemplarMatch:
    """The best exemplar of n images.

    Attributes:
        labels: (n,) class of the exemplar.
        poses: (n, 4) pose in which it matches.
        residuals: (n,) sum of squared pixel differences.
        runner_up_residuals: (n,) the same for the best exemplar of another class; infinite if there is none.
        runner_up_labels: (n,) that class; -1 if there is none.
    """

    labels: IntArray
    poses: npt.NDArray[np.float64]
    residuals: Residuals
    runner_up_residuals: Residuals
    runner_up_labels: IntArray

    def __getitem__(self, rows: IntArray) -> "ExemplarMatch":
        return ExemplarMatch(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def best_of(self, other: "ExemplarMatch") -> "ExemplarMatch":
        """The better of two matches of the same images; the runner-up is of another class than the best."""
        better, same = other.residuals < self.residuals, other.labels == self.labels
        best, worse = np.where(better, other.labels, self.labels), np.where(better, self.labels, other.labels)
        residuals = np.stack(
            [
                np.where(same, np.inf, np.maximum(self.residuals, other.residuals)),
                np.where(same | ~better, self.runner_up_residuals, np.inf),
                np.where(same | better, other.runner_up_residuals, np.inf),
            ],
            axis=1,
        )
        labels = np.stack([worse, self.runner_up_labels, other.runner_up_labels], axis=1)
        return ExemplarMatch(
            best,
            np.where(better[:, None], other.poses, self.poses),
            np.minimum(self.residuals, other.residuals),
            *_smallest(residuals, labels),
        )

    def replace(self, rows: IntArray, other: "ExemplarMatch") -> None:
        """Overwrite some rows."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(other, f.name)

    @property
    def ratios(self) -> Residuals:
        """(n,) residual as a share of the runner-up's, the paper's novelty score; 1 without a runner-up."""
        runner_up = self.runner_up_residuals
        return np.where(np.isinf(runner_up), 1.0, self.residuals / np.maximum(runner_up, 1e-9))

    @classmethod
    def concatenate(cls, matches: Sequence["ExemplarMatch"]) -> Self:
        """Matches of several batches."""
        labels = np.zeros(0, np.int64)
        empty = cls(labels, np.zeros((0, 4)), np.zeros(0), np.zeros(0), labels)
        return cls(
            **{f.name: np.concatenate([getattr(m, f.name) for m in (empty, *matches)]) for f in fields(cls)}
        )

    @classmethod
    def of_candidates(cls, labels: IntArray, residuals: Residuals, poses: npt.NDArray[np.float64]) -> Self:
        """The candidate (n, k) with the smallest residual, and the best one of another class."""
        best = residuals.argmin(axis=1)[:, None]
        answers = np.take_along_axis(labels, best, 1)
        others = np.where(labels == answers, np.inf, residuals)
        return cls(
            answers[:, 0],
            poses,
            np.take_along_axis(residuals, best, 1)[:, 0],
            *_smallest(others, labels),
        )


def _smallest(residuals: Residuals, labels: IntArray) -> tuple[Residuals, IntArray]:
    """The smallest residual of each row of (n, k), and its label; -1 where all are infinite."""
    best = residuals.argmin(axis=1)[:, None]
    smallest: Residuals = np.take_along_axis(residuals, best, 1)[:, 0]
    label: IntArray = np.take_along_axis(labels, best, 1)[:, 0]
    return smallest, np.where(np.isinf(smallest), -1, label).astype(np.int64)


class ExemplarStore(Stateful):
    """An exemplar memory, its nearest-neighbor index, cached matches, and novelty scores of known classes.

    Args:
        block: pooling size of the index; 1 compares whole images.
        comparison: how images are compared with exemplars.
    """

    parts: ClassVar[Names] = ("memory", "known_scores")
    counters: ClassVar[Names] = ("known_classes",)
    device = torch.device("cpu")
    """Where candidates are aligned; the memory is on the CPU."""

    def __init__(self, block: int, comparison: ImageComparison = ImageComparison()) -> None:  # noqa: B008
        self.comparison = comparison
        self.memory = ExemplarMemory()
        self.index = NearestIndex(block=block)
        self.known_scores: Residuals = np.zeros(0)
        self.known_classes: list[list[int]] = []
        self._loaded_classes: frozenset[int] = frozenset()
        self.cache: dict[bytes, ExemplarMatch] = {}

    def keep_known(self, scores: Residuals, match: ExemplarMatch) -> None:
        """Keep novelty scores of known classes, with the classes whose exemplars they depend on."""
        self.drop_forgotten()
        classes = np.stack([match.labels, match.runner_up_labels], axis=1).tolist()
        self.known_scores = np.concatenate([self.known_scores, scores])[-MAX_CALIBRATION_SCORES:]
        self.known_classes = [*self.known_classes, *classes][-MAX_CALIBRATION_SCORES:]

    def drop_forgotten(self) -> None:
        """Erase novelty scores that depend on classes which have been erased from the memory.

        Called before a state is saved, and not at each edit: protocols empty the memory temporarily.
        States from before classes were kept do not say which these are; then all of their scores are erased.
        """
        present = {*self.memory.classes()}
        if present >= self._loaded_classes:
            present.add(UNRECORDED)
        kept = [i for i, classes in enumerate(self.known_classes) if present.issuperset(classes)]
        if len(kept) < len(self.known_classes):
            self.known_scores = self.known_scores[kept]
            self.known_classes = [self.known_classes[i] for i in kept]

    def state(self) -> State:
        self.drop_forgotten()
        return super().state()

    def load(self, state: State) -> None:
        unrecorded = [[UNRECORDED]] * len(state["known_scores"])
        super().load({"known_classes": unrecorded, **state})

    def nearest(self, canonical: npt.NDArray[np.float32], poses: npt.NDArray[np.float64]) -> ExemplarMatch:
        """The exemplars nearest in pixel space to images that were warped to the canonical frame."""
        rows, distances = self.index.nearest(canonical, 2)
        return ExemplarMatch.of_candidates(self.memory.labels[rows], distances, poses)

    def evenly_lit(self, images: Images) -> Images:
        """Images in the light of the exemplars, as `search` and `align` compare them."""
        return self.comparison.evenly_lit(images, self.memory.images)

    def search(self, images: Images, poses: Tensor, k: int, grid: Tensor) -> ExemplarMatch:
        """Align the k exemplars most similar to an image in any pose of the grid around its own."""
        n, m = len(images), len(grid)
        tried = pose.compose(poses.repeat_interleave(m, 0), grid.repeat(n, 1))
        tried = tried.reshape(n, m, 4)
        rows, distances = self.comparison.candidates(self.index, images, tried, k, self.memory.images)
        best = smallest(distances.reshape(n, -1), rows.shape[1])
        starts = tried[torch.arange(n)[:, None], torch.from_numpy(best // rows.shape[1])]
        rows = np.take_along_axis(rows.reshape(n, -1), best, 1)
        residuals, aligned = self.align(images, rows, starts)
        return ExemplarMatch.of_candidates(self.memory.labels[rows], residuals, aligned)

    def align(
        self, images: Images, rows: IntArray, poses: Tensor
    ) -> tuple[Residuals, npt.NDArray[np.float64]]:
        """Align exemplars (n, k) from poses (n, k, 4): residuals (n, k) and poses of the best (n, 4)."""
        if self.device.type != "cpu":
            return self._align_on_device(images, rows, poses)
        n, (H, W) = len(images), images.shape[1:3]
        residuals, best = np.empty(rows.shape), np.empty((n, 4))
        starts = pose.inverse(poses.reshape(-1, 4)).double().reshape(*rows.shape, 4).numpy()
        exemplars = np.ascontiguousarray(self.memory.images).reshape(len(self.memory), H, W, -1)
        pixels = np.ascontiguousarray(images).reshape(n, H, W, -1)
        scales = self.comparison.scales(images)

        def align(a: int, b: int) -> None:
            some, scale = slice(a, b), None if scales is None else scales[a:b]
            arrays = rows[some], starts[some], residuals[some], best[some]
            align_candidates(pixels[some], exemplars, *arrays, scale)

        run_batches(align, n, ALIGN_BATCH, default_threads())
        return residuals, pose.inverse(torch.from_numpy(best)).numpy()

    def _align_on_device(
        self, images: Images, rows: IntArray, poses: Tensor
    ) -> tuple[Residuals, npt.NDArray[np.float64]]:
        used, numbers = np.unique(rows, return_inverse=True)
        levels = (each.reshape(*each.shape[:3], -1) for each in (images, self.memory.images[used]))
        starts = pose.inverse(poses.reshape(-1, 4)).reshape(*rows.shape, 4)
        tensors = (*map(torch.from_numpy, levels), torch.from_numpy(numbers.reshape(rows.shape)), starts)
        scales = self.comparison.scales(images)
        more = () if scales is None else (torch.from_numpy(scales),)
        residuals, best = torch_alignment.align_candidates(
            *(to_device(each, self.device) for each in (*tensors, *more))
        )
        return residuals.cpu().double().numpy(), pose.inverse(best.cpu().double()).numpy()

    def to(self, device: torch.device) -> Self:
        self.device = device
        return super().to(device)

    def on_load(self) -> None:
        self.index = NearestIndex(block=self.index.block)
        self._loaded_classes = frozenset(self.memory.classes())
        self.cache.clear()

    def footprint(self) -> Footprint:
        return Footprint(memory=self.memory.nbytes)


class ExemplarLearner(Learner):
    """Stores exemplars of each class, and answers with the class of the one that matches an image best.

    A method overrides `match` and `novelty_scores`, and clears `exemplars.cache` when its network changes.
    """

    parts: ClassVar[Names] = ("exemplars",)
    supervision = "labelled images, factor labels, exemplars"
    exemplars: ExemplarStore
    initial_novelty, max_calibration_ratio = INITIAL_NOVELTY, MAX_CALIBRATION_RATIO

    @abstractmethod
    def match(self, images: Images) -> ExemplarMatch:
        """Match a batch of images to the exemplars; the index is up to date and not empty."""

    @abstractmethod
    def novelty_scores(self, match: ExemplarMatch, images: Images) -> Residuals:
        """How badly matches fit, from 0 up."""

    @property
    def memory(self) -> ExemplarMemory:
        """The exemplars, which can be edited."""
        return self.exemplars.memory

    @memory.setter
    def memory(self, memory: ExemplarMemory) -> None:
        self.exemplars.memory = memory

    def begin(self, task: TaskView) -> None:
        """Store the exemplars of a task that are not in the memory yet."""
        pairs = zip(task.exemplars.images, task.exemplars.labels.tolist(), strict=True)
        new = [not self._is_stored(image, label) for image, label in pairs]
        self.memory.add(task.exemplars[np.array(new, bool)])

    def add_first_images(self, batch: Batch) -> None:
        """Store the first image of classes without exemplar, warped to the canonical frame if possible."""
        new = self.memory.first_images(batch)
        if len(new) and new.factors is not None:
            canonical = pose.to_canonical(to_tensor(new.images), pose.poses_from_factors(new.factors))
            new = Batch(pose.to_uint8(canonical), new.labels)
        self.memory.add(new)

    def end(self, task: TaskView) -> None:
        """Measure the novelty scores of known classes on validation images (or training images)."""
        if not len(self.memory):
            return
        images = task.val if len(task.val) else task.train
        some = images.shuffled(self.seed, task.index)[:CALIBRATION_IMAGES]
        match = self.matches(some.images)
        correct = (match.labels == some.labels) & (match.ratios < self.max_calibration_ratio)
        scores = self.novelty_scores(match, some.images)[correct]
        self.exemplars.keep_known(scores, match[np.flatnonzero(correct)])

    def predict(self, images: Images, tasks: IntArray | None = None, *, reject: bool = False) -> IntArray:
        """Labels of the best exemplars; -1 if the memory is empty or, with `reject`, for unknown classes."""
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        labels = self.matches(images).labels
        return np.where(self.novelty(images) > 0.5, -1, labels) if reject else labels

    def novelty(self, images: Images) -> Residuals:
        """Novelty from 0 to 1; about 1 in 100 images of known classes exceeds 0.5."""
        if not len(self.memory):
            return np.ones(len(images))
        known = self.exemplars.known_scores
        limit = float(np.quantile(known, 1 - FALSE_ALARM_RATE)) if len(known) else self.initial_novelty
        scores = self.novelty_scores(self.matches(images), images)
        return scores / (scores + max(limit, 1e-9))

    def estimate(self, images: Images) -> Factors:
        """The factors of each image, from the matched pose."""
        if not len(self.memory):
            return Factors.canonical(len(images))
        return pose.factors_from_poses(torch.from_numpy(self.matches(images).poses))

    def nearest_exemplars(self, images: Images, k: int) -> tuple[IntArray, Residuals]:
        """Rows of the k nearest exemplars, and residuals after alignment, (n, k) each."""
        poses, images = pose.poses_from_factors(self.estimate(images)), self.exemplars.evenly_lit(images)
        rows, _ = self.exemplars.index.candidates(pose.canonical_images(images, poses), k)
        return rows, self.exemplars.align(images, rows, poses[:, None].expand(-1, rows.shape[1], -1))[0]

    def _is_stored(self, image: Images, label: int) -> bool:
        stored = self.memory.images_of(label) if label in self.memory else ()
        return any(np.array_equal(image, each) for each in stored)

    def matches(self, images: Images) -> ExemplarMatch:
        """Match images in batches, with a cache."""
        if self.exemplars.index.update(self.memory):
            self.exemplars.cache.clear()
        starts = range(0, len(images), MATCH_BATCH)
        return ExemplarMatch.concatenate(
            [self._cached(images[start : start + MATCH_BATCH]) for start in starts]
        )

    def _cached(self, images: Images) -> ExemplarMatch:
        cache, key = self.exemplars.cache, hashlib.blake2b(np.ascontiguousarray(images).data).digest()
        if key not in cache:
            if len(cache) == CACHED_BATCHES:
                cache.pop(next(iter(cache)))
            cache[key] = self.match(images)
        return cache[key]
