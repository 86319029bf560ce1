from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.memory import Reservoir, digest
from everlearn.streams.stream import Batch


def numbered(n: int) -> Batch:
    return Batch(np.zeros((n, 1, 1), np.uint8), np.arange(n))


def test_every_image_is_kept_with_the_same_chance() -> None:
    n, capacity, runs = 60, 12, 3000
    kept = np.zeros(n)
    for seed in range(runs):
        memory = Reservoir(capacity=capacity, seed=seed)
        memory.add(numbered(n))
        kept[memory.everything().labels] += 1
    share = capacity / n
    spread = np.sqrt(runs * share * (1 - share))
    # The worst of 60 standard normal numbers stays below 4 in 99.6 of 100 worlds; seeds are fixed.
    assert np.abs(kept - runs * share).max() < 4 * spread
    assert kept.sum() == runs * capacity


def test_pairs_are_kept_with_the_same_chance() -> None:
    """Uniform over subsets, not only over images: all 10 pairs out of 5 are equally frequent."""
    pairs: dict[tuple[int, ...], int] = {}
    for seed in range(4000):
        memory = Reservoir(capacity=2, seed=seed)
        memory.add(numbered(5))
        pair = tuple(sorted(memory.everything().labels.tolist()))
        pairs[pair] = pairs.get(pair, 0) + 1
    counts = np.array(list(pairs.values()))
    assert len(counts) == 10
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi-square, 9 degrees of freedom, 0.999


@given(st.lists(st.integers(0, 700), max_size=5), st.integers(0, 100))
def test_how_images_are_batched_changes_nothing(cuts: list[int], seed: int) -> None:
    whole, parts = Reservoir(capacity=40, seed=seed), Reservoir(capacity=40, seed=seed)
    whole.add(numbered(700))
    edges = [0, *sorted(cuts), 700]
    for start, stop in pairwise(edges):
        parts.add(numbered(700)[start:stop])
    assert digest(whole.state()) == digest(parts.state())


def test_golden() -> None:
    memory = Reservoir(capacity=5, seed=1)
    memory.add(numbered(1000))
    assert memory.everything().labels.tolist() == [57, 67, 11, 139, 235]
