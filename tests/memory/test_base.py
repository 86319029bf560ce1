"""Contract of all replay buffers, and files of memories."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.memory import (
    ClassBalanced,
    ExemplarMemory,
    Herding,
    ReplayBuffer,
    Reservoir,
    State,
    open_state,
    save_state,
)
from everlearn.memory.table import ColumnTable
from everlearn.serialization import digest
from everlearn.streams.stream import Batch

KINDS = (Reservoir, ClassBalanced, Herding)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.kind)
def kind(request: pytest.FixtureRequest) -> type[ReplayBuffer]:
    chosen: type[ReplayBuffer] = request.param
    return chosen


def numbered(first: int, n: int, n_labels: int = 7) -> Batch:
    """Images whose pixels encode their number."""
    numbers = np.arange(first, first + n)
    images = np.zeros((n, 2, 4), np.uint8)
    images.reshape(n, 8)[:] = numbers.astype("<u8").reshape(n, 1).view(np.uint8)
    return Batch(images, numbers % n_labels)


def numbers(batch: Batch) -> list[int]:
    kept: list[int] = batch.images.reshape(len(batch), 8).copy().view("<u8")[:, 0].tolist()
    return kept


def filled(kind: type[ReplayBuffer], n: int = 500, capacity: int = 50) -> ReplayBuffer:
    memory = kind(capacity=capacity, seed=3)
    for first in range(0, n, 20):
        memory.add(numbered(first, 20))
    return memory


def test_columns_stay_aligned(kind: type[ReplayBuffer]) -> None:
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


def test_capacity_and_bytes_are_bounded(kind: type[ReplayBuffer]) -> None:
    memory = kind(capacity=30)
    sizes = []
    for first in range(0, 3000, 10):
        memory.add(numbered(first, 10))
        assert len(memory) <= 30
        sizes.append(memory.nbytes)
    assert max(sizes) <= 30 * (8 + 8)
    assert len(set(sizes[20:])) == 1


def test_stored_and_sampled_images_are_distinct(kind: type[ReplayBuffer]) -> None:
    memory = filled(kind)
    kept, drawn = numbers(memory.everything()), numbers(memory.sample(10))
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(range(500))
    assert len(set(drawn)) == 10
    assert set(drawn) <= set(kept)
    assert sorted(numbers(memory.sample(10**6))) == sorted(kept)


def test_sample_is_uniform(kind: type[ReplayBuffer]) -> None:
    memory = filled(kind)
    counts = np.zeros(len(memory))
    for k in range(4000):
        np.add.at(counts, memory.sample(5, k).rows, 1)
    expected = 4000 * 5 / len(memory)
    # Chi-square with 48 degrees of freedom or so; 90 is beyond the 0.9998 quantile.
    assert ((counts - expected) ** 2 / expected).sum() < 90


def test_samples_and_content_depend_on_seed_and_address_only(kind: type[ReplayBuffer]) -> None:
    memory, other = filled(kind), filled(kind)
    assert digest(memory.state()) == digest(other.state())
    assert numbers(memory.sample(9)) == numbers(other.sample(9))
    assert numbers(memory.sample(9, 1, 2)) == numbers(memory.sample(9, 1, 2))
    assert numbers(memory.sample(9, 1, 2)) != numbers(memory.sample(9, 2, 1))
    assert numbers(memory.sample(9)) != numbers(memory.sample(9))


def test_loaded_buffer_continues_exactly(kind: type[ReplayBuffer]) -> None:
    for n in (0, 20, 40, 300):
        memory, copy = filled(kind, n), kind(capacity=50, seed=3)
        memory.sample(4)
        copy.load(memory.state())
        for first in range(n, n + 300, 20):
            memory.add(numbered(first, 20, n_labels=11))
            copy.add(numbered(first, 20, n_labels=11))
            assert numbers(memory.sample(6)) == numbers(copy.sample(6))
        assert digest(memory.state()) == digest(copy.state())


def test_state_is_a_copy(kind: type[ReplayBuffer]) -> None:
    memory = filled(kind)
    state = memory.state()
    before = digest(state)
    memory.add(numbered(10_000, 200))
    memory.sample(3)
    assert digest(state) == before


def test_input_is_not_aliased(kind: type[ReplayBuffer]) -> None:
    memory, batch = kind(capacity=5), numbered(1, 5)
    memory.add(batch)
    before = digest(memory.state())
    batch.images[:] = 0
    memory.sample(5, 0).images[:] = 0
    assert digest(memory.state()) == before


def test_empty_buffer_gives_an_empty_batch(kind: type[ReplayBuffer]) -> None:
    memory = kind(capacity=5)
    assert (len(memory.sample(3)), memory.labels(), memory.nbytes) == (0, [], 0)
    memory.add(numbered(0, 0))
    assert memory.sample(3).images.shape == (0, 2, 4)


def test_growing_logits_are_padded_with_nan(kind: type[ReplayBuffer]) -> None:
    memory = kind(capacity=8)
    memory.add(numbered(0, 2), logits=np.zeros((2, 2)))
    memory.add(numbered(2, 2), logits=np.ones((2, 4)))
    kept = memory.everything()
    assert np.isnan(kept.extra["logits"]).sum() == 4
    assert not np.isnan(kept.extra["logits"][[k >= 2 for k in numbers(kept)]]).any()


def test_cost_of_updates_is_constant(kind: type[ReplayBuffer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows written or moved, with ten new classes per task."""
    touched = 0

    def count(name: str, count_rows: object) -> None:
        original = getattr(ColumnTable, name)

        def counting(self: ColumnTable, *parts: object) -> object:
            nonlocal touched
            touched += count_rows(*parts)  # type: ignore[operator]
            return original(self, *parts)

        monkeypatch.setattr(ColumnTable, name, counting)

    count("append", lambda parts: len(parts["labels"]))
    count("overwrite", lambda rows, parts: len(rows))
    count("remove", lambda rows: len(rows))
    memory = kind(capacity=500)
    totals = []
    for task in range(400):
        touched = 0
        memory.add(Batch(np.zeros((40, 2, 2), np.uint8), np.repeat(np.arange(10), 4) + 10 * task))
        totals.append(touched)
    assert max(totals[200:]) <= 80
    assert sum(totals[:200]) <= 80 * 200


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True, None])
def test_capacity_must_be_a_positive_integer(capacity: object) -> None:
    with pytest.raises(BadInput, match="capacity is"):
        Reservoir(capacity=capacity)  # type: ignore[arg-type]


def test_rejected_input_changes_nothing(kind: type[ReplayBuffer]) -> None:
    memory = filled(kind)
    before = digest(memory.state())
    with pytest.raises(BadInput, match="this memory has"):
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


def some_state() -> State:
    return State(
        arrays={"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": np.zeros(0)}, metadata={"n": [1, "é"]}
    )


def test_saved_state_round_trip(tmp_path: Path) -> None:
    save_state(tmp_path / "s", "test", some_state())
    state = open_state(tmp_path / "s", "test")
    assert state["metadata"] == some_state()["metadata"]
    assert state["arrays"].keys() == {"a", "b"}
    assert all(np.array_equal(state["arrays"][k], v) for k, v in some_state()["arrays"].items())
    assert state["arrays"]["a"].dtype == np.int16


def test_equal_states_give_equal_files(tmp_path: Path) -> None:
    save_state(tmp_path / "one", "test", some_state())
    reordered = State(
        arrays=dict(reversed(some_state()["arrays"].items())), metadata=some_state()["metadata"]
    )
    save_state(tmp_path / "two", "test", reordered)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_digest_covers_names_dtypes_shapes_bytes_and_metadata() -> None:
    zeros = np.zeros(4, np.int32)
    variants = [
        State(arrays={"a": zeros}, metadata={}),
        State(arrays={"b": zeros}, metadata={}),
        State(arrays={"a": zeros.astype(np.uint32)}, metadata={}),
        State(arrays={"a": zeros.reshape(2, 2)}, metadata={}),
        State(arrays={"a": zeros + 1}, metadata={}),
        State(arrays={"a": zeros}, metadata={"x": 1}),
    ]
    assert len({digest(state) for state in variants}) == len(variants)


def test_damaged_files_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "s"
    save_state(path, "test", some_state())
    whole = path.read_bytes()
    damaged = [whole[: len(whole) * k // 50] for k in range(50)]
    for at in range(0, len(whole) * 8, 7):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(BadInput):
            open_state(path, "test")


def test_other_files_are_rejected(tmp_path: Path) -> None:
    save_state(tmp_path / "other kind", "test", some_state())
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": 1}))
    safetensors.numpy.save_file({"a": np.zeros(2)}, tmp_path / "foreign")
    for name, sentence in [
        ("other kind", "holds 'test'"),
        ("pickle", "not a memory"),
        ("foreign", "not a memory"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            ExemplarMemory.open(tmp_path / name)
    with pytest.raises(BadInput, match="cannot be read"):
        open_state(tmp_path, "exemplars")
    with pytest.raises(BadInput, match="there is no file"):
        ExemplarMemory.open(tmp_path / "missing")


def test_newer_format_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.memory.base.FORMAT", 2)
    save_state(tmp_path / "s", "test", some_state())
    monkeypatch.undo()
    with pytest.raises(BadInput, match="has format 2; this everlearn reads format 1"):
        open_state(tmp_path / "s", "test")


def test_file_with_other_content_is_rejected(tmp_path: Path) -> None:
    save_state(tmp_path / "s", "exemplars", some_state())
    with pytest.raises(BadInput, match="not the state of an exemplar memory"):
        ExemplarMemory.open(tmp_path / "s")
