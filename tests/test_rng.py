import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.rng import MAX_SEED, check_seed, rng_at


def test_words_are_fixed() -> None:
    # Every stream and every published result depends on these values.
    words = rng_at(0, "golden", 1, 2, 3).words(4)
    assert [hex(word) for word in words.tolist()] == [
        "0x9883805431c36244", "0xecd3ffe8f8d18a42", "0xa9e1388d20a36ba2", "0xa54819ca9e9e5319",
    ]  # fmt: skip


def test_every_part_of_the_address_matters() -> None:
    addresses = [
        (0, "a"), (1, "a"), (0, "b"), (0, "a", 1), (0, "a", 0, 1), (0, "a", 0, 0, 1), (0, "a", 2**62),
    ]  # fmt: skip
    first = {int(rng_at(*address).words(1)[0]) for address in addresses}  # type: ignore[arg-type]
    assert len(first) == len(addresses)


def test_missing_counters_are_zero() -> None:
    assert (rng_at(3, "a").words(8) == rng_at(3, "a", 0, 0, 0).words(8)).all()


def test_adjacent_addresses_do_not_overlap() -> None:
    assert not np.intersect1d(rng_at(0, "a", 0).words(10_000), rng_at(0, "a", 1).words(10_000)).size


def test_uniform() -> None:
    numbers = rng_at(1, "flat").uniform(100_000, -2.0, 3.0)
    assert numbers.min() >= -2.0
    assert numbers.max() < 3.0
    counts, _ = np.histogram(numbers, bins=10, range=(-2.0, 3.0))
    assert abs(counts - 10_000).max() < 500  # five standard deviations


def test_normal() -> None:
    numbers = rng_at(1, "bell").normal(100_000)
    assert abs(numbers.mean()) < 0.02
    assert abs(numbers.var() - 1) < 0.03
    assert np.isfinite(numbers).all()


def test_permutation() -> None:
    order = rng_at(5, "order").permutation(1000)
    assert sorted(order.tolist()) == list(range(1000))
    assert (order != np.arange(1000)).any()


def test_integers() -> None:
    numbers = rng_at(5, "dice").integers(6000, 6)
    assert set(numbers.tolist()) == set(range(6))
    assert abs(np.bincount(numbers) - 1000).max() < 160


def test_four_counters_are_rejected() -> None:
    with pytest.raises(TypeError, match="at most three"):
        rng_at(0, "a", 1, 2, 3, 4)


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1, 1.5, "0", None, True])
def test_invalid_seeds_are_rejected(seed: object) -> None:
    with pytest.raises(BadInput, match=r"whole number from 0 to 2\*\*63 - 1"):
        check_seed(seed)  # type: ignore[arg-type]
