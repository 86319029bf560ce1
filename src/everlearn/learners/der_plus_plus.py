"""Dark experience replay with the labels as well."""

from typing import Unpack

from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Shared
from everlearn.learners.der import DER, MAX_WEIGHT


class DERPlusPlus(DER):
    """Keep the outputs of past images near what they were, and their labels right.

    The loss of `der` gains beta times the cross-entropy on a second, independent sample of the memory. Expect
    what is expected of `der`, but less drift where the outputs were poor when an image was met.

    Args:
        alpha: how much the old outputs weigh.
        beta: how much the old labels weigh.
        memory_size: images kept in all.
        replay_size: old images in each of the two samples that go with a batch.

    Example:
        >>> DERPlusPlus.tiny().beta
        0.5

    Reference: Buzzega et al. 2020, "Dark experience for general continual learning", arXiv:2004.07211.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.3,
        beta: float = 0.5,
        memory_size: int = 2000,
        replay_size: int = 64,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(alpha=alpha, memory_size=memory_size, replay_size=replay_size, **shared)
        check_range("beta", beta, 0, MAX_WEIGHT)
        self.beta = beta

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """The loss of `der`, and cross-entropy on other old images."""
        loss, old = super().loss(images, columns), self.memory.sample(self.replay_size)
        if not len(old):
            return loss
        old_images, old_columns = self.tensors(old)
        return loss + self.beta * functional.cross_entropy(self.outputs(old_images), old_columns)
