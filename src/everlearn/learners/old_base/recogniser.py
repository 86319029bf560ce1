"""The common part of learners that answer with an image they remember."""

import hashlib
from abc import abstractmethod

import numpy as np
import numpy.typing as npt
import torch

from everlearn.errors import check_range
from everlearn.factors import Factors
from everlearn.learners.base import Learner, State
from everlearn.learners.old_base.recognition import Recognition
from everlearn.memory import ExemplarMemory
from everlearn.memory.search import Lookup
from everlearn.networks import to_tensor
from everlearn.networks.pose import factors_from_poses, poses_from_factors, to_canonical, to_uint8
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

PIECE = 256
RECENT = 16
"""Pieces whose recognition is kept, because labels and poses of the same images are often asked in turn."""
JUDGED = 32
LUCK = 0.9
"""A right answer that fits hardly better than the second best was a lucky one."""
KEPT_SCORES = 512
FALSE_ALARMS = 0.01
USUAL = 0.005
"""Strangeness that 1 in 100 known sprites exceeds, until the learner has seen how it is with its own."""


class Recogniser(Learner):
    """Remembers one image per class, or several, and names what an image shows after one of them.

    A method says how it recognises (`recognise`) and how it learns to.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        block: side of the blocks averaged for the memory's compact codes; 1 compares images themselves.
    """

    supervision = "labelled images, factor labels, exemplars"

    def __init__(self, *, image_shape: tuple[int, ...], seed: int, block: int) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        check_range("block", block, 1, 64)
        self.memory = ExemplarMemory()
        self.lookup = Lookup(block=block)
        self.known_scores: npt.NDArray[np.float64] = np.zeros(0)
        self._recent: dict[bytes, Recognition] = {}

    @abstractmethod
    def recognise(self, images: Images) -> Recognition:
        """What the memory knows of a few images; `lookup` is up to date and not empty."""

    @abstractmethod
    def strangeness(self, found: Recognition, images: Images) -> npt.NDArray[np.float64]:
        """How badly what was found fits; any scale from 0 up."""

    def begin(self, task: TaskView) -> None:
        """Write down the exemplars that are not in the memory yet."""
        new = [not self._has(label, image) for image, label in _pairs(task.exemplars)]
        self.memory.add(task.exemplars[np.array(new, bool)])

    def end(self, task: TaskView) -> None:
        """See how well known classes fit where they are recognised, to know later what does not fit."""
        if not len(self.memory):
            return
        some = (task.val if len(task.val) else task.train).shuffled(self.seed, task.index)[:JUDGED]
        found = self._found(some.images)
        recognised = (found.labels == some.labels) & (found.ratios < LUCK)
        scores = self.strangeness(found, some.images)[recognised]
        self.known_scores = np.concatenate([self.known_scores, scores])[-KEPT_SCORES:]

    def predict(self, images: Images, tasks: IntArray | None = None, *, reject: bool = False) -> IntArray:
        """The label of the remembered image that fits best; -1 if nothing does and `reject` is set."""
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        labels = self._found(images).labels
        return np.where(self.novelty(images) > 0.5, -1, labels) if reject else labels

    def novelty(self, images: Images) -> npt.NDArray[np.float64]:
        """How unlike everything known each image is, 0 to 1; about 1 in 100 known images exceeds 0.5."""
        if not len(self.memory):
            return np.ones(len(images))
        limit = float(np.quantile(self.known_scores, 1 - FALSE_ALARMS)) if len(self.known_scores) else USUAL
        scores = self.strangeness(self._found(images), images)
        return scores / (scores + max(limit, 1e-9))

    def estimate(self, images: Images) -> Factors:
        """Where and how the thing in each image is shown."""
        if not len(self.memory):
            return Factors.canonical(len(images))
        return factors_from_poses(torch.from_numpy(self._found(images).poses))

    def state(self) -> State:
        """The memory, and how well known things fitted."""
        return {"memory": self.memory.state(), "known_scores": self.known_scores.copy(), "flops": self.flops}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        self.memory.load(state["memory"])
        self.known_scores, self.flops = np.array(state["known_scores"]), state["flops"]
        self.lookup = Lookup(block=self.lookup.block)
        self.changed()

    def changed(self) -> None:
        """What was recognised before may look different now."""
        self._recent.clear()

    def remember_unseen(self, batch: Batch) -> None:
        """Where a class came without exemplar, keep its first image, brought to the canonical frame."""
        labels, first = np.unique(batch.labels, return_index=True)
        new = np.sort(first[[label not in self.memory for label in labels.tolist()]])
        if not len(new):
            return
        some = batch[new]
        if some.factors is not None:
            canonical = to_canonical(to_tensor(some.images), poses_from_factors(some.factors))
            some = Batch(to_uint8(canonical), some.labels)
        self.memory.add(some)

    def _found(self, images: Images) -> Recognition:
        if self.lookup.follow(self.memory):
            self.changed()
        pieces = [images[start : start + PIECE] for start in range(0, len(images), PIECE)]
        return Recognition.concatenate([Recognition.nothing(), *map(self._recalled, pieces)])

    def _recalled(self, images: Images) -> Recognition:
        key = hashlib.blake2b(np.ascontiguousarray(images).data).digest()
        if key not in self._recent:
            if len(self._recent) == RECENT:
                self._recent.pop(next(iter(self._recent)))
            self._recent[key] = self.recognise(images)
        return self._recent[key]

    def _has(self, label: int, image: Images) -> bool:
        return label in self.memory and any(
            np.array_equal(image, known) for known in self.memory.images_of(label)
        )


def _pairs(batch: Batch) -> list[tuple[Images, int]]:
    return list(zip(batch.images, batch.labels.tolist(), strict=True))
