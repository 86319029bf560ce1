"""Dark experience replay: DER and DER++."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier, without_factors
from everlearn.learners.stateful import Names
from everlearn.memory import Reservoir, Sample
from everlearn.memory.base import MAX_CAPACITY
from everlearn.networks.devices import loss_value
from everlearn.streams import Batch

MAX_WEIGHT = 1e9


class DER(Classifier):
    """Dark experience replay.

    The loss is cross-entropy + alpha * mean squared error between the current logits of replayed images and
    the logits stored with them. Images enter a reservoir after the step that trained them, with the logits of
    that step. In the paper all logits exist from the start, and those of future labels are trained to be as
    low as those of other wrong labels; here the target of a label that was unknown then is the lowest stored
    logit of the image, since old images would otherwise be assigned to new labels.

    It needs fewer images than `er`; its accuracy also decays when classes outgrow the buffer. Logits are
    stored for every label, so the size of an image grows with the number of labels.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = DER.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> learner.buffer.sample(4).extra["logits"].shape  # of the labels known by now
        (4, 6)

    Reference: Buzzega et al. 2020, "Dark experience for general continual learning", arXiv:2004.07211.
    """

    alpha: float = setting("weight of the error of replayed logits", default=0.3, ge=0, le=MAX_WEIGHT)
    memory_size: int = setting("images stored in total", default=2000, ge=1, le=MAX_CAPACITY)
    replay_size: int = setting("stored images in each replayed sample", default=64, ge=1, le=MAX_REPLAY)

    parts: ClassVar[Names] = ("buffer",)
    supervision = "labelled images, past images"

    def setup(self) -> None:
        super().setup()
        self.buffer = Reservoir(capacity=self.memory_size, seed=self.seed)

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        images, targets = self.tensors(batch)
        logits = self.logits(images)
        loss = functional.cross_entropy(logits, targets)
        for replay_loss in self.replay_losses():
            loss = loss + replay_loss
        self.optimizer_step(loss)
        self.end_step()
        self.buffer.add(without_factors(batch), logits=logits.detach().float().cpu().numpy())
        return {"loss": loss_value(loss)}

    def replay_losses(self) -> Iterator[Tensor]:
        """The weighted losses on replayed samples; none while the buffer is empty."""
        sample = self.buffer.sample(self.replay_size)
        if len(sample):
            yield self.alpha * self.logit_error(sample)

    def logit_error(self, sample: Sample) -> Tensor:
        """Mean squared error between current and stored logits."""
        logits = self.logits(self.tensor(sample.images))
        stored = fill_unknown(sample.extra["logits"], logits.shape[1])
        return functional.mse_loss(logits, torch.from_numpy(stored).to(logits.device))


class DERPlusPlus(DER):
    """Dark experience replay with replayed labels (DER++).

    The loss of `der` + beta * cross-entropy on a second, independent sample of the buffer. It drifts less
    than `der` where the logits were poor when an image was stored.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = DERPlusPlus(image_shape=(16, 16), alpha=0.1, beta=1.0)
        >>> task = sprites(image_size=16, factor_values=2, classes_per_task=3).task(0)
        >>> for batch in task.train.batches(16):
        ...     losses = learner.learn(batch)
        >>> len([*learner.replay_losses()])  # of the logits and of the labels
        2

    Reference: Buzzega et al. 2020, "Dark experience for general continual learning", arXiv:2004.07211.
    """

    beta: float = setting("weight of the cross-entropy of replayed labels", default=0.5, ge=0, le=MAX_WEIGHT)

    def replay_losses(self) -> Iterator[Tensor]:
        yield from super().replay_losses()
        sample = self.buffer.sample(self.replay_size)
        if len(sample):
            yield self.beta * self.loss(*self.tensors(sample))


def fill_unknown(logits: npt.NDArray[np.float32], n_labels: int) -> npt.NDArray[np.float32]:
    """Logits (n, fewer) of all labels: those that were unknown (missing or NaN) get the lowest of the image.

    Example:
        >>> fill_unknown(np.array([[2.0, -1.0], [3.0, np.nan]], np.float32), 3)
        array([[ 2., -1., -1.],
               [ 3.,  3.,  3.]], dtype=float32)
    """
    filled = np.repeat(np.nanmin(logits, axis=1, keepdims=True), n_labels, axis=1)
    known = np.nonzero(~np.isnan(logits))
    filled[known] = logits[known]
    return filled
