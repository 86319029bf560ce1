"""What all memories that choose for themselves promise."""

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.memory import ClassBalanced, Herding, Memory, Reservoir, digest
from everlearn.memory.table import Rows
from everlearn.streams.stream import Batch

KINDS = (Reservoir, ClassBalanced, Herding)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.kind)
def kind(request: pytest.FixtureRequest) -> type[Memory]:
    chosen: type[Memory] = request.param
    return chosen


def numbered(first: int, n: int, n_labels: int = 7) -> Batch:
    """Images that carry their own number, so that one can tell what a memory kept."""
    numbers = np.arange(first, first + n)
    images = np.zeros((n, 2, 4), np.uint8)
    images.reshape(n, 8)[:] = numbers.astype("<u8").reshape(n, 1).view(np.uint8)
    return Batch(images, numbers % n_labels)


def numbers(batch: Batch) -> list[int]:
    kept: list[int] = batch.images.reshape(len(batch), 8).copy().view("<u8")[:, 0].tolist()
    return kept


def fed(kind: type[Memory], n: int = 500, capacity: int = 50) -> Memory:
    memory = kind(capacity=capacity, seed=3)
    for first in range(0, n, 20):
        memory.add(numbered(first, 20))
    return memory


def test_rows_stay_together(kind: type[Memory]) -> None:
    memory = kind(capacity=20)
    for first in range(0, 200, 10):
        batch = numbered(first, 10)
        factors = Factors(scale=np.arange(first, first + 10) + 1.0, colour=np.full((10, 3), 0.25))
        known = Batch(batch.images, batch.labels, factors, np.full(10, first))
        memory.add(known, logits=np.arange(first, first + 10, dtype=np.float32)[:, None])
    kept = memory.sample(10)
    assert kept.factors is not None
    assert kept.tasks is not None
    assert kept.labels.tolist() == [k % 7 for k in numbers(kept)]
    assert kept.factors.scale.tolist() == [k + 1 for k in numbers(kept)]
    assert kept.factors.colour.tolist() == [[0.25] * 3] * 10
    assert kept.tasks.tolist() == [k // 10 * 10 for k in numbers(kept)]
    assert kept.extra["logits"][:, 0].tolist() == numbers(kept)
    assert numbers(memory.everything()[kept.rows]) == numbers(kept)


def test_capacity_is_never_passed_and_bytes_stay_flat(kind: type[Memory]) -> None:
    memory = kind(capacity=30)
    sizes = []
    for first in range(0, 3000, 10):
        memory.add(numbered(first, 10))
        assert len(memory) <= 30
        sizes.append(memory.nbytes)
    assert max(sizes) <= 30 * (8 + 8)
    assert len(set(sizes[20:])) == 1


def test_nothing_is_kept_that_was_not_met_and_nothing_twice(kind: type[Memory]) -> None:
    kept = numbers(fed(kind).everything())
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(range(500))


def test_sampling_draws_different_rows(kind: type[Memory]) -> None:
    memory = fed(kind)
    drawn = numbers(memory.sample(10))
    assert len(set(drawn)) == 10
    assert set(drawn) <= set(numbers(memory.everything()))
    assert sorted(numbers(memory.sample(10**6))) == sorted(numbers(memory.everything()))


def test_sampling_is_uniform(kind: type[Memory]) -> None:
    memory = fed(kind)
    counts = np.zeros(len(memory))
    for k in range(4000):
        np.add.at(counts, memory.sample(5, k).rows, 1)
    expected = 4000 * 5 / len(memory)
    # Chi-square with 48 degrees of freedom or so; 90 is beyond the 0.9998 quantile.
    assert ((counts - expected) ** 2 / expected).sum() < 90


def test_an_address_draws_the_same_again_and_no_address_draws_anew(kind: type[Memory]) -> None:
    memory = fed(kind)
    assert numbers(memory.sample(9, 1, 2)) == numbers(memory.sample(9, 1, 2))
    assert numbers(memory.sample(9, 1, 2)) != numbers(memory.sample(9, 2, 1))
    assert numbers(memory.sample(9)) != numbers(memory.sample(9))


def test_the_same_seed_keeps_and_draws_the_same(kind: type[Memory]) -> None:
    one, two = fed(kind), fed(kind)
    assert digest(one.state()) == digest(two.state())
    assert numbers(one.sample(9)) == numbers(two.sample(9))


def test_a_loaded_memory_goes_on_as_if_nothing_had_happened(kind: type[Memory]) -> None:
    for n in (0, 20, 40, 300):
        memory, copy = fed(kind, n), kind(capacity=50, seed=3)
        memory.sample(4)
        copy.load(memory.state())
        for first in range(n, n + 300, 20):
            memory.add(numbered(first, 20, n_labels=11))
            copy.add(numbered(first, 20, n_labels=11))
            assert numbers(memory.sample(6)) == numbers(copy.sample(6))
        assert digest(memory.state()) == digest(copy.state())


def test_a_state_is_a_copy(kind: type[Memory]) -> None:
    memory = fed(kind)
    state = memory.state()
    before = digest(state)
    memory.add(numbered(10_000, 200))
    memory.sample(3)
    assert digest(state) == before


def test_input_is_not_aliased(kind: type[Memory]) -> None:
    memory, batch = kind(capacity=5), numbered(1, 5)
    memory.add(batch)
    before = digest(memory.state())
    batch.images[:] = 0
    memory.sample(5, 0).images[:] = 0
    assert digest(memory.state()) == before


def test_an_empty_memory_gives_an_empty_batch(kind: type[Memory]) -> None:
    memory = kind(capacity=5)
    assert (len(memory.sample(3)), memory.labels(), memory.nbytes) == (0, [], 0)
    memory.add(numbered(0, 0))
    assert memory.sample(3).images.shape == (0, 2, 4)


def test_growing_logits_are_filled_up_with_nan(kind: type[Memory]) -> None:
    memory = kind(capacity=8)
    memory.add(numbered(0, 2), logits=np.zeros((2, 2)))
    memory.add(numbered(2, 2), logits=np.ones((2, 4)))
    kept = memory.everything()
    assert np.isnan(kept.extra["logits"]).sum() == 4
    assert not np.isnan(kept.extra["logits"][[k >= 2 for k in numbers(kept)]]).any()


def test_updates_cost_as_much_at_task_2000_as_at_task_10(
    kind: type[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in rows written or moved, with ten new classes in each task."""
    touched = 0

    def counted(name: str, count_rows: object) -> None:
        plain = getattr(Rows, name)

        def act(self: Rows, *parts: object) -> object:
            nonlocal touched
            touched += count_rows(*parts)  # type: ignore[operator]
            return plain(self, *parts)

        monkeypatch.setattr(Rows, name, act)

    counted("append", lambda parts: len(parts["labels"]))
    counted("overwrite", lambda rows, parts: len(rows))
    counted("remove", lambda rows: len(rows))
    memory = kind(capacity=500)
    totals = []
    for task in range(2000):
        touched = 0
        memory.add(Batch(np.zeros((40, 2, 2), np.uint8), np.repeat(np.arange(10), 4) + 10 * task))
        totals.append(touched)
    assert max(totals[1000:]) <= 80
    assert sum(totals[:1000]) <= 80 * 1000


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True, None])
def test_a_capacity_must_be_a_whole_number(kind: type[Memory], capacity: object) -> None:
    with pytest.raises(BadInput, match="capacity is"):
        kind(capacity=capacity)  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused_and_changes_nothing(kind: type[Memory]) -> None:
    memory = fed(kind)
    before = digest(memory.state())
    with pytest.raises(BadInput, match="this memory holds"):
        memory.add(Batch(np.zeros((2, 9, 9), np.uint8), np.array([100, 101])))
    with pytest.raises(BadInput, match="rename it"):
        memory.add(numbered(0, 2), labels=np.zeros(2))
    with pytest.raises(BadInput, match="each must have 2"):
        memory.add(numbered(0, 2), logits=np.zeros((3, 1)))
    with pytest.raises(BadInput, match="cannot sample -1"):
        memory.sample(-1)
    with pytest.raises(BadInput, match="the state has capacity 50"):
        kind(capacity=51, seed=3).load(memory.state())
    assert digest(memory.state()) == before
