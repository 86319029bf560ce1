"""Records that somebody else prepared: nothing in them is executed, nothing outside them is touched."""

import gzip
import io
import json
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs import DamagedCheckpoint, Record, resume

from .conftest import BreakOff, finish, play_a_task


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (os.system, (f"touch {self.path}",))


def pickles(canary: Path) -> Iterator[bytes]:
    """Files that do something when they are loaded as people load such files."""
    evil = Canary(canary)
    yield from (pickle.dumps(evil, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))
    yield f"cos\nsystem\n(S'touch {canary}'\ntR.".encode()
    yield f"!!python/object/apply:os.system ['touch {canary}']\n".encode()
    yield f"#!/bin/sh\ntouch {canary}\n".encode()
    yield f"__import__('os').system('touch {canary}')\n".encode()
    objects = np.array([evil], dtype=object)
    for save in (np.save, np.savez, np.savez_compressed):
        yield _written(lambda file, save=save: save(file, objects))
    for zipped in (True, False):
        yield _written(
            lambda file, zipped=zipped: torch.save({"a": evil}, file, _use_new_zipfile_serialization=zipped)
        )


def archives() -> Iterator[bytes]:
    """Files that are unpacked elsewhere, or become very large."""
    with zipfile.ZipFile(slip := io.BytesIO(), "w") as archive:
        archive.writestr("../../canary", "x")
    yield slip.getvalue()
    with tarfile.open(fileobj=(links := io.BytesIO()), mode="w") as tar:
        link = tarfile.TarInfo("data")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    yield links.getvalue()
    yield gzip.compress(bytes(1 << 24))
    yield b"\x89HDF\r\n\x1a\n" + bytes(64)


def near_states() -> Iterator[bytes]:
    """Files that are nearly what we write."""
    one = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
    for lie in (
        {"data_offsets": [0, 2**40]},
        {"data_offsets": [1, 0]},
        {"data_offsets": [-1, 0]},
        {"shape": [2**62, 2**62]},
        {"shape": [-1]},
        {"dtype": "OBJECT"},
        {"dtype": None},
    ):
        yield _tensors({"a": {**one, **lie}}, b"x")
    many = {f"t{i}": {**one, "data_offsets": [i, i + 1]} for i in range(100_000)}
    yield _tensors(many, bytes(100_000))
    for plain in ("[" * 100_000, "[]", "null", "NaN", '{"a": {"__array__": "../../x"}}', "{"):
        yield _tensors({"__metadata__": {"plain": plain}}, b"")
    yield (99_999_999).to_bytes(8, "little") + b"{"
    yield b"[" * 100_000
    yield b""


def _written(save: Callable[[io.BytesIO], object]) -> bytes:
    save(file := io.BytesIO())
    return file.getvalue()


def _tensors(header: dict[str, object], data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_the_canary_sings_when_it_is_loaded(tmp_path: Path) -> None:
    pickle.loads(next(pickles(tmp_path / "canary")))
    assert (tmp_path / "canary").exists()


def test_strange_files_are_never_executed(break_off: BreakOff, tmp_path: Path) -> None:
    folder, canary = break_off(), tmp_path / "canary"
    strange = [*pickles(canary), *archives(), *near_states()]
    assert len(strange) >= 30
    for data in strange:
        for path in (folder / "checkpoint").glob("*.safetensors"):
            path.write_bytes(data)
            path.with_suffix(".sha256").write_text(f"{files.sha256(data)}  {path.name}\n")
        with pytest.raises(BadInput, match="none of the checkpoints"):
            finish(resume(folder))
    assert not canary.exists()


def test_a_well_formed_state_that_does_not_fit_is_refused(break_off: BreakOff) -> None:
    folder = break_off()
    checkpoints = Record(folder).checkpoints
    good = checkpoints.read(3)
    for bad in (
        {},
        {**good, "play": {}},
        {**good, "logs": {}},
        {**good, "play": {**good["play"], "learner": {}}},
    ):
        checkpoints.save(3, bad)
        with pytest.warns(DamagedCheckpoint):
            play_a_task(folder)


@pytest.mark.parametrize("name", ["events.jsonl", "scores.jsonl", "seconds.jsonl", ".lock"])
def test_links_inside_a_record_are_not_followed(break_off: BreakOff, tmp_path: Path, name: str) -> None:
    folder, precious = break_off(), tmp_path / "precious"
    precious.write_text("keep me")
    (folder / name).unlink()
    (folder / name).symlink_to(precious)
    with pytest.raises(BadInput, match="cannot write"):
        finish(resume(folder))
    assert precious.read_text() == "keep me"
