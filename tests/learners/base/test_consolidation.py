"""Merging rows, worked out by hand from the paper's algorithm 1."""

import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.old_base.consolidation import Consolidation


def test_a_worked_example() -> None:
    """Three tasks of a head with two features: a class that is new, one that returns, one that is absent."""
    kept = Consolidation(torch.zeros(4, 2))
    # Task 1: class 0 from 90 images, class 1 from 10; each row loses its own mean.
    kept.merge(torch.tensor([[5.0, 1.0], [2.0, 6.0], [7.0, 7.0], [0.0, 0.0]]), {0: 90, 1: 10})
    torch.testing.assert_close(kept.rows, torch.tensor([[2.0, -2.0], [-2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]))
    # Task 2: class 0 returns with 10 images, so w = sqrt(90 / 10) = 3; class 2 is new.
    kept.merge(torch.tensor([[10.0, 0.0], [4.0, 4.0], [1.0, 3.0], [0.0, 0.0]]), {0: 10, 2: 5})
    # (2 * 3 + 5) / 4 = 2.75
    torch.testing.assert_close(kept.rows, torch.tensor([[2.75, -2.75], [-2.0, 2.0], [-1.0, 1.0], [0.0, 0.0]]))
    assert kept.n_past.tolist() == [100, 10, 5, 0]
    # Task 3: class 1 returns with 40 images, so w = sqrt(10 / 40) = 1/2: (-2 * 1/2 + 8) / (3/2)
    kept.merge(torch.tensor([[0.0, 0.0], [16.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), {1: 40})
    torch.testing.assert_close(kept.rows[1], torch.tensor([7.0, -7.0]) / 1.5)


def test_a_task_s_mean_is_one_number() -> None:
    kept = Consolidation(torch.zeros(3, 2), centring="task")
    kept.merge(torch.tensor([[1.0, 3.0], [9.0, 9.0], [5.0, 7.0]]), {0: 1, 2: 1})
    torch.testing.assert_close(kept.rows, torch.tensor([[-3.0, -1.0], [0.0, 0.0], [1.0, 3.0]]))


def test_rows_of_other_classes_stay_bit_for_bit() -> None:
    kept = Consolidation(torch.zeros(3, 5))
    kept.merge(torch.randn(3, 5, generator=torch.Generator().manual_seed(0)), {0: 3, 1: 4, 2: 5})
    before = kept.rows.clone()
    kept.merge(torch.ones(3, 5), {1: 7})
    assert torch.equal(kept.rows[[0, 2]], before[[0, 2]])
    assert not torch.equal(kept.rows[1], before[1])


def test_a_task_starts_with_the_rows_of_its_classes_alone() -> None:
    kept = Consolidation(torch.zeros(3, 2))
    kept.merge(torch.tensor([[0.0, 2.0], [0.0, 4.0], [0.0, 6.0]]), {0: 1, 1: 1})
    torch.testing.assert_close(kept.starting([1, 2]), torch.tensor([[0.0, 0.0], [-2.0, 2.0], [0.0, 0.0]]))


def test_what_was_never_merged_answers_as_it_is_learned() -> None:
    kept = Consolidation(torch.zeros(2, 2))
    kept.merge(torch.tensor([[0.0, 2.0], [0.0, 0.0]]), {0: 1})
    learned = torch.tensor([[8.0, 8.0], [9.0, 9.0]])
    torch.testing.assert_close(kept.answering(learned), torch.tensor([[-1.0, 1.0], [9.0, 9.0]]))


def test_an_unknown_centring_is_a_sentence() -> None:
    with pytest.raises(BadInput, match="did you mean 'class'"):
        Consolidation(torch.zeros(1, 1), centring="clas")
