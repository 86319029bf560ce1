import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from everlearn.errors import BadInput
from everlearn.memory import State, digest, open_state, save_state
from everlearn.memory.exemplars import ExemplarMemory


def some_state() -> State:
    return State(
        arrays={"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": np.zeros(0)}, facts={"n": [1, "é"]}
    )


def test_states_come_back_as_they_were(tmp_path: Path) -> None:
    save_state(tmp_path / "s", "test", some_state())
    state = open_state(tmp_path / "s", "test")
    assert state["facts"] == some_state()["facts"]
    assert state["arrays"].keys() == {"a", "b"}
    assert all(np.array_equal(state["arrays"][k], v) for k, v in some_state()["arrays"].items())
    assert state["arrays"]["a"].dtype == np.int16


def test_equal_states_make_equal_files(tmp_path: Path) -> None:
    save_state(tmp_path / "one", "test", some_state())
    turned = State(arrays=dict(reversed(some_state()["arrays"].items())), facts=some_state()["facts"])
    save_state(tmp_path / "two", "test", turned)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_digest_sees_names_types_shapes_bytes_and_facts() -> None:
    zeros = np.zeros(4, np.int32)
    variants = [
        State(arrays={"a": zeros}, facts={}),
        State(arrays={"b": zeros}, facts={}),
        State(arrays={"a": zeros.astype(np.uint32)}, facts={}),
        State(arrays={"a": zeros.reshape(2, 2)}, facts={}),
        State(arrays={"a": zeros + 1}, facts={}),
        State(arrays={"a": zeros}, facts={"x": 1}),
    ]
    assert len({digest(state) for state in variants}) == len(variants)


def test_every_flipped_bit_and_every_cut_is_noticed(tmp_path: Path) -> None:
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


def test_files_of_others_are_refused(tmp_path: Path) -> None:
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
    with pytest.raises(BadInput, match="there is no file"):
        ExemplarMemory.open(tmp_path / "missing")


def test_a_newer_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.memory.base.FORMAT", 2)
    save_state(tmp_path / "s", "test", some_state())
    monkeypatch.undo()
    with pytest.raises(BadInput, match="has format 2; this everlearn reads format 1"):
        open_state(tmp_path / "s", "test")


def test_a_sound_file_with_other_contents_is_refused(tmp_path: Path) -> None:
    save_state(tmp_path / "s", "exemplars", some_state())
    with pytest.raises(BadInput, match="not the state of an exemplar memory"):
        ExemplarMemory.open(tmp_path / "s")
