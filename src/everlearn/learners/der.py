"""Dark experience replay: remember what was thought of an image, not only what it was."""

from typing import Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Shared
from everlearn.learners.base.learner import Losses
from everlearn.learners.base.rehearsal import MAX_REPLAY, Rehearsal, plain
from everlearn.memory import Reservoir, Sample
from everlearn.streams import Batch

Outputs = npt.NDArray[np.float32]

MAX_WEIGHT = 1e9


class DER(Rehearsal):
    """Keep the outputs of past images near what they were when the images were met.

    The loss gains alpha times the mean square of (output - output then), over a sample of the memory and all
    labels. Images enter the memory (a fair sample of everything seen) after the step that learned them, with
    the outputs of that step. In the paper all outputs exist from the start, and those of labels to come are
    kept as low as those of other wrong labels; here a label that nobody had seen then is held to the lowest
    output of the image, or nothing would keep new labels from taking over old images.

    Expect it to need fewer images than `er`, and to decay like it when classes outgrow the memory; outputs
    are kept for every label, so an image costs more bytes as labels arrive.

    Args:
        alpha: how much the old outputs weigh.
        memory_size: images kept in all.
        replay_size: old images looked at with each batch.

    Example:
        >>> DER.tiny().memory
        <Reservoir: 0 of at most 2000 images, 0 seen>

    Reference: Buzzega et al. 2020, "Dark experience for general continual learning", arXiv:2004.07211.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.3,
        memory_size: int = 2000,
        replay_size: int = 64,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        check_range("alpha", alpha, 0, MAX_WEIGHT)
        check_range("replay_size", replay_size, 1, MAX_REPLAY)
        self.memory = Reservoir(capacity=memory_size, seed=self.seed)
        self.alpha, self.replay_size = alpha, replay_size
        self._said = torch.zeros(0)

    def learn(self, batch: Batch) -> Losses:
        """One step; then the images may enter the memory, with what was said to them."""
        loss = self.step(batch)
        self.memory.add(plain(batch), outputs=self._said.cpu().numpy())
        return {"loss": loss}

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """Cross-entropy on the new images, and how far outputs of old ones have moved."""
        outputs = self.outputs(images)
        self._said = outputs.detach()
        loss = functional.cross_entropy(outputs, columns)
        old = self.memory.sample(self.replay_size)
        return loss + self.alpha * self.drift(old) if len(old) else loss

    def drift(self, old: Sample) -> Tensor:
        """The mean square of how far the outputs of remembered images are from what they were."""
        outputs = self.outputs(self.tensors(old)[0])
        wanted = completed(old.extra["outputs"], outputs.shape[1])
        return functional.mse_loss(outputs, torch.from_numpy(wanted).to(outputs.device))


def completed(outputs: Outputs, n_labels: int) -> Outputs:
    """Outputs (n, fewer) for all labels: those not known then (missing or NaN) get the lowest of their image.

    Example:
        >>> completed(np.array([[2.0, -1.0], [3.0, np.nan]], np.float32), 3)
        array([[ 2., -1., -1.],
               [ 3.,  3.,  3.]], dtype=float32)
    """
    lowest = np.repeat(np.nanmin(outputs, axis=1, keepdims=True), n_labels, axis=1)
    known = np.nonzero(~np.isnan(outputs))
    lowest[known] = outputs[known]
    return lowest
