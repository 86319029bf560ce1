"""Untrusted records: nothing in them is executed, and no file outside them is changed."""

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

from .conftest import Interrupt, finish, run_one_task


class Payload:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (os.system, (f"touch {self.path}",))


def pickles(canary: Path) -> Iterator[bytes]:
    """Files that create a canary file when they are loaded with common functions."""
    payload = Payload(canary)
    yield from (pickle.dumps(payload, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))
    yield f"cos\nsystem\n(S'touch {canary}'\ntR.".encode()
    yield f"!!python/object/apply:os.system ['touch {canary}']\n".encode()
    yield f"#!/bin/sh\ntouch {canary}\n".encode()
    yield f"__import__('os').system('touch {canary}')\n".encode()
    objects = np.array([payload], dtype=object)
    for save in (np.save, np.savez, np.savez_compressed):
        yield _written(lambda file, save=save: save(file, objects))
    for zipped in (True, False):
        yield _written(
            lambda file, zipped=zipped: torch.save(
                {"a": payload}, file, _use_new_zipfile_serialization=zipped
            )
        )


def archives() -> Iterator[bytes]:
    """Archives that extract to other folders or to a large size."""
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


def malformed_states() -> Iterator[bytes]:
    """Almost valid checkpoints."""
    one = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
    for change in (
        {"data_offsets": [0, 2**40]},
        {"data_offsets": [1, 0]},
        {"data_offsets": [-1, 0]},
        {"shape": [2**62, 2**62]},
        {"shape": [-1]},
        {"dtype": "OBJECT"},
        {"dtype": None},
    ):
        yield _tensors({"a": {**one, **change}}, b"x")
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


def test_payload_creates_the_canary(tmp_path: Path) -> None:
    pickle.loads(next(pickles(tmp_path / "canary")))
    assert (tmp_path / "canary").exists()


def test_untrusted_checkpoints_are_not_executed(interrupted: Interrupt, tmp_path: Path) -> None:
    folder, canary = interrupted(), tmp_path / "canary"
    for data in (*pickles(canary), *archives(), *malformed_states()):
        for path in (folder / "checkpoint").glob("*.safetensors"):
            path.write_bytes(data)
            path.with_suffix(".sha256").write_text(f"{files.sha256(data)}  {path.name}\n")
        with pytest.raises(BadInput, match="none of the checkpoints"):
            finish(resume(folder))
    assert not canary.exists()


def test_state_of_another_structure_is_rejected(interrupted: Interrupt) -> None:
    folder = interrupted()
    checkpoints = Record(folder).checkpoints
    good = checkpoints.read(3)
    for bad in (
        {},
        {**good, "run": {}},
        {**good, "logs": {}},
        {**good, "run": {**good["run"], "learner": {}}},
    ):
        checkpoints.save(3, bad)
        with pytest.warns(DamagedCheckpoint):
            run_one_task(folder)


@pytest.mark.parametrize("name", ["events.jsonl", "scores.jsonl", "seconds.jsonl", ".lock"])
def test_symbolic_links_are_not_followed(interrupted: Interrupt, tmp_path: Path, name: str) -> None:
    folder, outside = interrupted(), tmp_path / "outside"
    outside.write_text("keep me")
    (folder / name).unlink()
    (folder / name).symlink_to(outside)
    with pytest.raises(BadInput, match="cannot write"):
        finish(resume(folder))
    assert outside.read_text() == "keep me"
