"""Springs that hold weights where they were."""

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, State
from everlearn.learners.old_base.classifier import Classifier, Shared
from everlearn.networks import pad_to

MAX_STRENGTH = 1e12


class Anchor:
    """A place for every weight, and how much it matters that the weight stays there.

    Args:
        weights: the first places; nothing matters yet.

    Example:
        >>> anchor = Anchor([torch.zeros(2)])
        >>> anchor.move([torch.tensor([1.0, 5.0])], [torch.tensor([10.0, 1.0])])
        >>> anchor.penalty([torch.tensor([3.0, 6.0, 9.0])])
        tensor(41.)
    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self.move(weights, [torch.zeros_like(weight) for weight in weights])

    def move(self, weights: Sequence[Tensor], importances: Sequence[Tensor]) -> None:
        """Hold the weights where they are now."""
        self.places = copies(weights)
        self.importances = list(importances)

    def penalty(self, weights: Sequence[Tensor]) -> Tensor:
        """The sum of importance * (weight - place)^2; rows that came later are free."""
        springs = zip(weights, self.places, self.importances, strict=True)
        return torch.stack([(i * (w[: len(p)] - p).square()).sum() for w, p, i in springs]).sum()

    @property
    def nbytes(self) -> int:
        """The bytes of places and importances."""
        return sum(tensor.numel() * tensor.element_size() for tensor in (*self.places, *self.importances))

    def state(self) -> State:
        """Places and importances, numbered like the weights."""
        return {"places": numbered(self.places), "importances": numbered(self.importances)}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        device = self.places[0].device
        self.places = listed(state["places"], device)
        self.importances = listed(state["importances"], device)


class Anchored(Classifier):
    """A classifier whose weights are drawn back to where they were when the last task ended.

    A method says in `end` what matters. Places and importances are counted as weights: they are as large as
    the network and hold no image.

    Args:
        strength: how much the penalty weighs.
    """

    def __init__(self, *, strength: float, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        check_range("strength", strength, 0, MAX_STRENGTH)
        self.strength = strength
        self.anchor = Anchor(self.held())

    def held(self) -> list[nn.Parameter]:
        """The weights that are drawn back: all of them."""
        return self.weights()

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """The loss on the batch, and the penalty."""
        return super().loss(images, columns) + self.strength * self.anchor.penalty(self.held())

    def accumulate(self, importances: Sequence[Tensor], *, decay: float = 1.0) -> None:
        """Add importances to those so far, which fade by `decay`; hold the weights where they are."""
        old = [pad_to(i, new.shape) for i, new in zip(self.anchor.importances, importances, strict=True)]
        self.anchor.move(self.held(), [decay * i + new for i, new in zip(old, importances, strict=True)])

    def state(self) -> State:
        """The network's state and the anchor's."""
        return {**super().state(), "anchor": self.anchor.state()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.anchor.load(state["anchor"])

    def footprint(self) -> Footprint:
        """The bytes of the network and of its anchor."""
        return Footprint(weights=super().footprint().weights + self.anchor.nbytes)


def copies(weights: Sequence[Tensor]) -> list[Tensor]:
    """The weights as they are now."""
    return [weight.detach().clone() for weight in weights]


def numbered(tensors: Sequence[Tensor]) -> dict[str, Any]:
    """Tensors as arrays under their numbers, for a state."""
    return {str(i): tensor.cpu().numpy().copy() for i, tensor in enumerate(tensors)}


def listed(arrays: dict[str, Any], device: torch.device) -> list[Tensor]:
    """What `numbered` wrote down."""
    return [torch.tensor(arrays[str(i)], device=device) for i in range(len(arrays))]
