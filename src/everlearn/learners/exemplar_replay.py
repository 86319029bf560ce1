"""Replay of one exemplar per class in random poses."""

from typing import ClassVar

import torch
from torch import Tensor

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier, concat
from everlearn.learners.stateful import Names
from everlearn.memory import ExemplarMemory
from everlearn.networks import pose
from everlearn.rng import rng_at
from everlearn.streams import Batch, TaskView


class ExemplarReplay(Classifier):
    """Replay of one exemplar per class in random poses.

    A classifier with the information of `dcl`, but without factor labels: one image per class in canonical
    pose is stored. Each batch is trained together with stored exemplars of all classes, warped to random
    scales, angles and positions, under one cross-entropy. Where the transformations of the stream are known,
    an exemplar represents all images of its class. New images favor new classes; with new_images=False a step
    trains on as many exemplars instead, with equal weight of all classes. It fails where images vary in other
    ways (noise, texture, clutter), and with too many classes for the network or for the exemplars of a step.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = ExemplarReplay.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     learner.begin(task.for_learner())
        ...     losses = learner.learn(task.train[:8])
        >>> learner.exemplars
        <ExemplarMemory: 6 images of 6 classes>

    Reference: the exemplars of Dziadzio et al. 2023, arXiv:2312.16731, replayed as by Chaudhry et al. 2019,
    "On tiny episodic memories in continual learning", arXiv:1902.10486.
    """

    replay_size: int = setting("exemplars replayed with each batch", default=64, ge=1, le=MAX_REPLAY)
    new_images: bool = setting("train on new images; if not, on more exemplars", default=True)

    parts: ClassVar[Names] = ("exemplars",)
    supervision = "labelled images, exemplars"

    def setup(self) -> None:
        super().setup()
        self.exemplars = ExemplarMemory()

    def begin(self, task: TaskView) -> None:
        self.exemplars.add(self.exemplars.first_images(task.exemplars))

    def learn(self, batch: Batch) -> Losses:
        self.exemplars.add(self.exemplars.first_images(batch))  # where a stream has no exemplars
        new = batch if self.new_images else batch[:0]
        rng = rng_at(self.seed, "replayed exemplars", self.n_steps)
        rows = rng.integers(self.replay_size + len(batch) - len(new), len(self.exemplars))
        drawn = Batch(self.exemplars.images[rows], self.exemplars.labels[rows])
        return {"loss": self.step(concat(new, drawn))}

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        n_new = len(images) - self.replay_size if self.new_images else 0
        new, exemplars = images[:n_new], images[n_new:]
        posed, _ = pose.augment_poses(exemplars, rng_at(self.seed, "exemplar poses", self.n_steps))
        return super().loss(torch.cat([new, posed]), targets)
