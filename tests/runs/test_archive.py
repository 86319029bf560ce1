"""Archives restore records bit for bit; damaged, unsafe and interrupted ones change nothing."""

import io
import json
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec, pack, record, unpack
from everlearn.runs.run_record import RecordLock
from tests.runs.conftest import finish


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished records with checkpoints."""
    folder = tmp_path_factory.mktemp("records")
    small = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2}
    for seed in (0, 1):
        spec = RunSpec.make(learner="nearest", settings={**small, "seed": seed})
        finish(record(spec, folder / f"run-{seed}"))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_records_are_restored_bit_for_bit(records: Path, tmp_path: Path) -> None:
    assert pack([records], tmp_path / "a.tar.gz") == ["run-0", "run-1"]
    assert unpack(tmp_path / "a.tar.gz", tmp_path / "copies") == ["run-0", "run-1"]
    assert contents(tmp_path / "copies") == contents(records)
    assert any("checkpoint" in name for name in contents(tmp_path / "copies"))
    assert Record(tmp_path / "copies" / "run-1").digest == Record(records / "run-1").digest


def test_equal_records_give_equal_bytes(records: Path, tmp_path: Path) -> None:
    pack([records / "run-0"], tmp_path / "a.tar.gz")
    unpack(tmp_path / "a.tar.gz", tmp_path / "copies")
    os.utime(tmp_path / "copies" / "run-0" / "spec.json", (1, 1))
    pack([tmp_path / "copies" / "run-0", tmp_path / "copies"], tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_a_running_record_is_refused(records: Path, tmp_path: Path) -> None:
    with RecordLock(records / "run-0"), pytest.raises(BadInput, match="is in use by process"):
        pack([records], tmp_path / "a.tar.gz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.zip", "ends in .tar.gz"), ("no/folder/a.tar.gz", "folder that exists"), ("there.tar.gz", "exists")],
)
def test_unsuitable_names_are_refused(records: Path, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "there.tar.gz").touch()
    with pytest.raises(BadInput, match=message):
        pack([records], tmp_path / name)


def test_folders_without_records_and_two_records_of_one_name_are_refused(
    records: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="has no records"):
        pack([tmp_path], tmp_path / "a.tar.gz")
    with pytest.raises(BadInput, match="no record is given"):
        pack([], tmp_path / "a.tar.gz")
    pack([records / "run-0"], tmp_path / "b.tar.gz")
    unpack(tmp_path / "b.tar.gz", tmp_path / "copies")
    with pytest.raises(BadInput, match="two records are called 'run-0'"):
        pack([records, tmp_path / "copies"], tmp_path / "a.tar.gz")


def test_existing_records_are_kept(records: Path, tmp_path: Path) -> None:
    pack([records], tmp_path / "a.tar.gz")
    (tmp_path / "copies" / "run-1").mkdir(parents=True)
    message = re.escape(f"{tmp_path / 'copies' / 'run-1'} exists already; unpack into another folder")
    with pytest.raises(BadInput, match=f"^{message}$"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "copies")
    assert [path.name for path in (tmp_path / "copies").iterdir()] == ["run-1"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-200] + bytes(100) + data[-100:],
        lambda data: b"",
        lambda data: b"not an archive",
        lambda data: data[:30] + bytes([data[30] ^ 255]) + data[31:],
    ],
    ids=["half", "zeros", "empty", "text", "one byte"],
)
def test_damaged_archives_restore_nothing(
    records: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    pack([records], tmp_path / "a.tar.gz")
    (tmp_path / "a.tar.gz").write_bytes(damage((tmp_path / "a.tar.gz").read_bytes()))
    with pytest.raises(BadInput, match=r"a\.tar\.gz"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "copies")
    assert not list((tmp_path / "copies").iterdir())


@pytest.mark.parametrize(
    "manifest",
    [
        b"[]",
        b'{"version": 1, "files": null}',
        b'{"version": 1, "files": {"run/spec.json": 3}}',
        b'{"version": 1, "files": {"run/spec.json": {"size": "x"}}}',
        b"[" * 100_000,
    ],
)
def test_malformed_manifests_are_refused(tmp_path: Path, manifest: bytes) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        entry = tarfile.TarInfo("everlearn-archive.json")
        entry.size = len(manifest)
        tar.addfile(entry, io.BytesIO(manifest))
    with pytest.raises(BadInput, match="is damaged or not an archive of `everlearn pack`"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "copies")


def crafted(path: Path, members: dict[str, bytes], link: str = "") -> Path:
    """An archive with a valid manifest of any names; `link` becomes a symbolic link."""
    entries = {
        name: {"size": len(data), "sha256": files.sha256(data)}
        for name, data in members.items()
        if name != link
    }
    manifest = json.dumps({"version": 1, "files": entries}).encode()
    with tarfile.open(path, "w:gz") as tar:
        for name, data in {"everlearn-archive.json": manifest, **members}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            if name == link:
                entry.type, entry.linkname, entry.size = tarfile.SYMTYPE, "/etc/passwd", 0
            tar.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    ("members", "link"),
    [
        ({"../run/spec.json": b"{}"}, ""),
        ({"/tmp/run/spec.json": b"{}"}, ""),
        ({"run/spec.json": b"{}", "run/../../x": b""}, ""),
        ({"run/spec.json": b"{}", "run\\..\\x/y": b""}, ""),
        ({"spec.json": b"{}"}, ""),
        ({".lock/spec.json": b"{}"}, ""),
        ({"run/events.jsonl": b""}, ""),
        ({"run/spec.json": b"{}", "run/link": b""}, "run/link"),
    ],
)
def test_unsafe_archives_are_refused(tmp_path: Path, members: dict[str, bytes], link: str) -> None:
    with pytest.raises(BadInput):
        unpack(crafted(tmp_path / "a.tar.gz", members, link), tmp_path / "inner" / "copies")
    assert not list((tmp_path / "inner" / "copies").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "inner"]


def test_a_full_disk_leaves_no_archive(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(old: Path, new: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.disk, "rename", full)
    with pytest.raises(files.DiskFull):
        pack([records], tmp_path / "a.tar.gz")
    assert not list(tmp_path.iterdir())
