"""Rows of a head, learned task by task, merged so that none is louder than another."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from everlearn.errors import unknown
from everlearn.learners.base import State
from everlearn.networks import pad_to

CENTRINGS = ("class", "task")


class Consolidation:
    """The rows that answer, one for each label, and from how many images each was learned.

    A task is learned by rows of its own, which start as those of its classes here, and as zeros for others.
    Afterwards the mean is taken off them, lest some classes be louder than others, and each is merged:

        row = (row * w + learned) / (w + 1),  w = sqrt(n_past / n_current)

    so that a class met for the first time is as it was learned, and rows of other classes are not touched.

    Args:
        rows: the first rows, (capacity, n_features).
        centring: what is taken off a learned row: its own mean ("class"), or that of all rows learned in the
            task together ("task").

    Example:
        >>> kept = Consolidation(torch.zeros(2, 2))
        >>> kept.merge(torch.tensor([[3.0, 1.0], [9.0, 9.0]]), {0: 10})
        >>> kept.rows
        tensor([[ 1., -1.],
                [ 0.,  0.]])
        >>> kept.merge(torch.tensor([[8.0, 0.0], [9.0, 9.0]]), {0: 10})
        >>> kept.rows[0], kept.n_past
        (tensor([ 2.5000, -2.5000]), tensor([20,  0]))

    References: Maltoni and Lomonaco 2019, "Continuous learning in single-incremental-task scenarios",
    arXiv:1806.08568; w: Lomonaco et al. 2020, "Rehearsal-free continual learning over small non-i.i.d.
    batches", arXiv:1907.03799 (CWR*).
    """

    def __init__(self, rows: Tensor, centring: str = "class") -> None:
        if centring not in CENTRINGS:
            raise unknown("centring", centring, CENTRINGS)
        self.rows, self.centring = torch.zeros_like(rows), centring
        self.n_past = torch.zeros(len(rows), dtype=torch.long, device=rows.device)

    def grow(self, shape: torch.Size) -> None:
        """Make room for more labels."""
        self.rows, self.n_past = pad_to(self.rows, shape), pad_to(self.n_past, shape[:1])

    def starting(self, columns: Sequence[int]) -> Tensor:
        """Rows to begin a task with: those of its classes, and zeros."""
        rows = torch.zeros_like(self.rows)
        rows[list(columns)] = self.rows[list(columns)]
        return rows

    def merge(self, learned: Tensor, counts: Mapping[int, int]) -> None:
        """Take in the rows of some columns, each learned from so many images."""
        columns = torch.tensor(list(counts), dtype=torch.long, device=self.rows.device)
        current = torch.tensor(list(counts.values()), dtype=torch.long, device=self.rows.device)
        rows = self._centred(learned[columns])
        w = (self.n_past[columns] / current).sqrt()[:, None]
        self.rows[columns] = (self.rows[columns] * w + rows) / (w + 1)
        self.n_past[columns] += current

    def answering(self, learned: Tensor) -> Tensor:
        """The rows that answer: those kept, and as it is being learned one that has never been merged."""
        return torch.where(self.n_past[:, None] > 0, self.rows, learned)

    @property
    def nbytes(self) -> int:
        """The bytes of rows and counts."""
        return self.rows.nbytes + self.n_past.nbytes

    def state(self) -> State:
        """Rows and counts."""
        return {"rows": self.rows.cpu().numpy().copy(), "n_past": self.n_past.cpu().numpy().copy()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        device = self.rows.device
        self.rows = torch.tensor(state["rows"], device=device)
        self.n_past = torch.tensor(state["n_past"], device=device)

    def _centred(self, rows: Tensor) -> Tensor:
        return rows - (rows.mean(1, keepdim=True) if self.centring == "class" else rows.mean())
