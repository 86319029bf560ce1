"""A head whose class weights are consolidated after each task (CWR*)."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from everlearn.learners.stateful import Names, Stateful
from everlearn.networks import pad_to


class CWRHead(Stateful):
    """Consolidated class weights, one row per label, and the number of images each was trained on.

    A task trains rows of its own, which start as the consolidated rows of its classes and as zeros for other
    classes. Afterwards they are centered, so that all logits have the same scale, and consolidated:

        row = (row * w + trained) / (w + 1),  w = sqrt(n_past / n_current)

    A class that is new gets its trained row; rows of classes that are not in the task do not change. Rows are
    centered by the mean of each ("class") or of all rows of the task ("task"). The class weights of a head
    give the shape.

    Example:
        >>> head = CWRHead(torch.zeros(2, 2), centering="class")
        >>> head.consolidate(torch.tensor([[3.0, 1.0], [9.0, 9.0]]), {0: 10})
        >>> head.class_weights
        tensor([[ 1., -1.],
                [ 0.,  0.]])
        >>> head.consolidate(torch.tensor([[8.0, 0.0], [9.0, 9.0]]), {0: 10})
        >>> head.class_weights[0], head.n_past
        (tensor([ 2.5000, -2.5000]), tensor([20,  0]))

    References: Maltoni and Lomonaco 2019, "Continuous learning in single-incremental-task scenarios",
    arXiv:1806.08568; w: Lomonaco et al. 2020, arXiv:1907.03799 (CWR*).
    """

    parts: ClassVar[Names] = ("class_weights", "n_past")

    def __init__(self, weight: Tensor, *, centering: str) -> None:
        self.class_weights, self.centering = torch.zeros_like(weight), centering
        self.n_past = torch.zeros(len(weight), dtype=torch.long, device=weight.device)

    def resize(self, shape: torch.Size) -> None:
        """Add rows of zeros for new labels."""
        self.class_weights, self.n_past = pad_to(self.class_weights, shape), pad_to(self.n_past, shape[:1])

    def consolidate(self, trained: Tensor, counts: Mapping[int, int]) -> None:
        """Merge trained rows; `counts` has the number of training images of each class index."""
        indices = torch.tensor(list(counts), dtype=torch.long, device=self.class_weights.device)
        n_current = torch.tensor(list(counts.values()), dtype=torch.long, device=self.class_weights.device)
        rows = trained[indices]
        rows = rows - (rows.mean(1, keepdim=True) if self.centering == "class" else rows.mean())
        w = (self.n_past[indices] / n_current).sqrt()[:, None]
        self.class_weights[indices] = (self.class_weights[indices] * w + rows) / (w + 1)
        self.n_past[indices] += n_current

    def inference_weights(self, trained: Tensor) -> Tensor:
        """The rows that predict: consolidated ones, and trained ones of classes in their first task."""
        return torch.where(self.n_past[:, None] > 0, self.class_weights, trained)
