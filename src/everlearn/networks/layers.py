"""Layers: a head that grows with the labels, cosines, pooling, and a projection."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks.devices import to_device, to_like
from everlearn.networks.tensors import load_module, module_state, pad_to, seeded
from everlearn.rng import Rng


class GrowingHead(nn.Module):
    """A linear layer with one logit per label, in the order of their first appearance.

    Capacity grows in powers of two, so that adding a label rarely replaces the parameters.

    Example:
        >>> head = GrowingHead(n_features=3)
        >>> head.add_labels([7, 2, 7])
        False
        >>> head.labels, head(torch.zeros(1, 3)).shape
        ([7, 2], torch.Size([1, 2]))
    """

    def __init__(self, n_features: int, capacity: int = 16) -> None:
        super().__init__()
        self.labels: list[int] = []
        self._index: dict[int, int] = {}
        self.weight = nn.Parameter(torch.zeros(capacity, n_features))
        self.bias = nn.Parameter(torch.zeros(capacity))

    def forward(self, features: Tensor) -> Tensor:
        """(n, n_features) -> logits (n, n_labels)."""
        n = len(self.labels)
        return functional.linear(features, self.weight[:n], self.bias[:n])

    def add_labels(self, labels: Iterable[int]) -> bool:
        """Add new labels; returns True if the parameters were replaced by larger ones."""
        for label in map(int, labels):
            if label not in self._index:
                self._index[label] = len(self.labels)
                self.labels.append(label)
        if len(self.labels) <= len(self.bias):
            return False
        self.resize(1 << (len(self.labels) - 1).bit_length())
        return True

    def class_indices(self, labels: Iterable[int]) -> Tensor:
        """The index of each label's logit."""
        indices = [self._index[int(label)] for label in labels]
        return to_device(torch.tensor(indices, dtype=torch.long), self.weight.device)

    def resize(self, capacity: int) -> None:
        """Replace the parameters by others with `capacity` rows; new rows are zero."""
        weight, bias = self.weight.detach()[:capacity], self.bias.detach()[:capacity]
        self.weight = nn.Parameter(pad_to(weight, torch.Size([capacity, weight.shape[1]])))
        self.bias = nn.Parameter(pad_to(bias, torch.Size([capacity])))

    @torch.no_grad()
    def draw_rows(self, first: int, rng: Rng, std: float = 1.0) -> None:
        """Draw random weights of the labels from number `first` on; rows of zeros have no direction.

        Example:
            >>> from everlearn.rng import rng_at
            >>> head = GrowingHead(n_features=2)
            >>> _ = head.add_labels([7, 2])
            >>> head.draw_rows(1, rng_at(0, "docs"))
            >>> head.weight[:3].any(1)
            tensor([False,  True, False])
        """
        if n := len(self.labels) - first:
            numbers = std * rng.normal(n * self.weight.shape[1])
            self.weight[first : first + n] = to_like(numbers, self.weight).view(n, -1)

    def state(self) -> dict[str, Any]:
        """Weights and labels."""
        return {**module_state(self), "labels": list(self.labels)}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned, with its capacity."""
        self.labels, self._index = [], {}
        self.resize(len(state["weight"]))
        self.add_labels(state["labels"])
        load_module(self, {name: state[name] for name in ("weight", "bias")})


def cosines(features: Tensor, vectors: Tensor) -> Tensor:
    """The cosines (n, m) of features (n, d) and vectors (m, d).

    Example:
        >>> cosines(torch.tensor([[3.0, 4.0]]), torch.tensor([[2.0, 0.0], [0.0, 0.1]]))
        tensor([[0.6000, 0.8000]])
    """
    return functional.normalize(features) @ functional.normalize(vectors).T


class MeanPool(nn.Module):
    """The mean over positions, (n, C, H, W) -> (n, C).

    Example:
        >>> MeanPool()(torch.ones(2, 5, 4, 4)).shape
        torch.Size([2, 5])
    """

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3))


class MaxMeanPool(nn.Module):
    """The maximum and the mean over positions, (n, C, H, W) -> (n, 2 C).

    Example:
        >>> MaxMeanPool()(torch.ones(2, 5, 4, 4)).shape
        torch.Size([2, 10])
    """

    def forward(self, maps: Tensor) -> Tensor:
        return torch.cat([maps.amax(dim=(2, 3)), maps.mean(dim=(2, 3))], dim=1)


def projection_head(n_features: int, n_outputs: int, seed: int) -> nn.Sequential:
    """Two layers between features and the embeddings of a contrastive loss.

    Example:
        >>> projection_head(8, 4, seed=0)(torch.zeros(2, 8)).shape
        torch.Size([2, 4])
    """
    with seeded(seed):
        return nn.Sequential(nn.Linear(n_features, n_features), nn.ReLU(), nn.Linear(n_features, n_outputs))
