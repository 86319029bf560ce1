import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.rng import MAX_SEED, check_seed, rng_at


def test_words_never_change() -> None:
    # Published results depend on these; a change here is a change of every stream.
    words = rng_at(0, "golden", 1, 2, 3).words(4)
    assert [hex(word) for word in words.tolist()] == GOLDEN_WORDS


GOLDEN_WORDS = ["0x9883805431c36244", "0xecd3ffe8f8d18a42", "0xa9e1388d20a36ba2", "0xa54819ca9e9e5319"]


def test_every_part_of_the_address_matters() -> None:
    addresses = [
        (0, "a"), (1, "a"), (0, "b"), (0, "a", 1), (0, "a", 0, 1), (0, "a", 0, 0, 1), (0, "a", 2**62),
    ]  # fmt: skip
    first = {int(rng_at(*address).words(1)[0]) for address in addresses}  # type: ignore[arg-type]
    assert len(first) == len(addresses)


def test_missing_numbers_of_an_address_are_zero() -> None:
    assert (rng_at(3, "a").words(8) == rng_at(3, "a", 0, 0, 0).words(8)).all()


def test_draws_at_neighbouring_addresses_do_not_overlap() -> None:
    # A counter counts blocks; reading far at one address must not run into the next one.
    here = rng_at(0, "a", 0).words(10_000)
    there = rng_at(0, "a", 1).words(10_000)
    assert not np.intersect1d(here, there).size


def test_uniform_stays_in_range_and_is_flat() -> None:
    numbers = rng_at(1, "flat").uniform(100_000, -2.0, 3.0)
    assert numbers.min() >= -2.0
    assert numbers.max() < 3.0
    counts, _ = np.histogram(numbers, bins=10, range=(-2.0, 3.0))
    assert abs(counts - 10_000).max() < 500  # five standard deviations


def test_normal_has_mean_zero_and_variance_one() -> None:
    numbers = rng_at(1, "bell").normal(100_000)
    assert abs(numbers.mean()) < 0.02
    assert abs(numbers.var() - 1) < 0.03
    assert np.isfinite(numbers).all()


def test_permutation_is_one() -> None:
    order = rng_at(5, "order").permutation(1000)
    assert sorted(order.tolist()) == list(range(1000))
    assert (order != np.arange(1000)).any()


def test_integers_cover_their_range() -> None:
    numbers = rng_at(5, "dice").integers(6000, 6)
    assert set(numbers.tolist()) == set(range(6))
    assert abs(np.bincount(numbers) - 1000).max() < 160


def test_address_of_four_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match="at most three"):
        rng_at(0, "a", 1, 2, 3, 4)


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1, 1.5, "0", None, True])
def test_bad_seeds_get_a_sentence(seed: object) -> None:
    with pytest.raises(BadInput, match=r"whole number from 0 to 2\*\*63 - 1"):
        check_seed(seed)  # type: ignore[arg-type]
