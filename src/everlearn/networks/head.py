"""A linear layer that welcomes new labels."""

import torch
from torch import Tensor, nn

from everlearn.networks.tensors import grown


class GrowingHead(nn.Module):
    """One output per label seen so far, in the order of their first appearance.

    Rows are set aside in powers of two, so that growing by one label costs nothing most of the time and
    the optimiser keeps its memory of the old rows.

    Example:
        >>> head = GrowingHead(n_features=3)
        >>> head.admit([7, 2, 7])
        False
        >>> head.labels, head(torch.zeros(1, 3)).shape
        ([7, 2], torch.Size([1, 2]))
    """

    def __init__(self, n_features: int, capacity: int = 16) -> None:
        super().__init__()
        self.labels: list[int] = []
        self._column: dict[int, int] = {}
        self.weight = nn.Parameter(torch.zeros(capacity, n_features))
        self.bias = nn.Parameter(torch.zeros(capacity))

    def forward(self, features: Tensor) -> Tensor:
        """(n, n_features) -> (n, n_labels)."""
        n = len(self.labels)
        return nn.functional.linear(features, self.weight[:n], self.bias[:n])

    def admit(self, labels: list[int]) -> bool:
        """Make room for labels; True if the parameters were replaced by larger ones."""
        for label in labels:
            if label not in self._column:
                self._column[label] = len(self.labels)
                self.labels.append(label)
        return self._reserve(len(self.labels))

    def columns(self, labels: Tensor) -> Tensor:
        """The output that belongs to each label."""
        columns = [self._column[int(label)] for label in labels.tolist()]
        return torch.tensor(columns, dtype=torch.long, device=self.weight.device)

    def _reserve(self, n: int) -> bool:
        capacity = self.weight.shape[0]
        if n <= capacity:
            return False
        larger = 1 << (n - 1).bit_length()
        self.weight = nn.Parameter(grown(self.weight.detach(), torch.Size([larger, *self.weight.shape[1:]])))
        self.bias = nn.Parameter(grown(self.bias.detach(), torch.Size([larger])))
        return True
