import numpy as np
import torch

from everlearn.learners.old_base.patterns import KeptPatterns, Patterns, RandomPatterns


def some(n: int, column: int) -> Patterns:
    return Patterns(torch.full((n, 2, 3), float(column)), torch.full((n,), column))


def test_real_patterns_stay_with_their_class_and_within_bounds() -> None:
    kept = KeptPatterns(memory_size=10, seed=0)
    for column in range(5):
        kept.study(some(20, column), task=column)
    values, columns = kept.sample(10, step=3)
    assert sum(kept.counts().values()) == len(columns) == 10
    assert len(kept.counts()) > 1
    assert (values == columns[:, None, None]).all()
    assert kept.nbytes == 10 * (2 * 3 * 4 + 8)


def test_a_step_draws_the_same_again_and_another_step_others() -> None:
    kept = KeptPatterns(memory_size=100, seed=0)
    kept.study(Patterns(torch.arange(100.0)[:, None], torch.zeros(100, dtype=torch.long)), task=0)
    first, same, other = (kept.sample(5, step).values for step in (7, 7, 8))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_random_patterns_reach_where_nine_of_ten_real_ones_end() -> None:
    drawn = RandomPatterns(shape=(4, 5), memory_size=12, seed=0)
    real = torch.linspace(0, 10, 1001).view(-1, 1)
    drawn.study(Patterns(real, torch.zeros(1001)), task=0)
    drawn.study(Patterns(100 * real, torch.zeros(1001)), task=1)  # the range is taken once
    drawn.refill([3, 5, 9], task=1)
    values, columns = drawn.sample(600, step=1)
    assert values.shape == (600, 4, 5)
    assert 0 <= float(values.min()) < 0.01
    assert 8.99 < float(values.max()) <= 9.0
    assert abs(float(values.mean()) - 4.5) < 0.1
    counts = np.bincount(columns.numpy(), minlength=10)
    assert set(np.flatnonzero(counts)) == {3, 5, 9}
    assert counts.max() - counts[counts > 0].min() < 80
    assert drawn.counts() == {3: 4, 5: 4, 9: 4}


def test_nothing_is_drawn_before_there_is_a_class() -> None:
    drawn = RandomPatterns(shape=(4,), memory_size=12, seed=0)
    drawn.refill([], task=0)
    assert len(drawn.sample(5, step=0).columns) == 0
