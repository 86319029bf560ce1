import errno
import os
import subprocess
from pathlib import Path

import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.files import Disk, DiskFull

from .nobody import only_root, said_to_nobody


class FailingDisk(Disk):
    """Fails with an error number at the n-th act, leaving half a write behind."""

    def __init__(self, at: int, number: int) -> None:
        self.left, self.number = at, number

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(self.number, os.strerror(self.number))

    def open(self, path: Path, flags: int) -> int:
        self._count()
        return super().open(path, flags)

    def write(self, file: int, data: bytes | memoryview) -> int:
        if self.left == 1:
            super().write(file, data[: len(data) // 2])
        self._count()
        return super().write(file, data)

    def sync(self, file: int) -> None:
        self._count()
        super().sync(file)

    def rename(self, old: Path, new: Path) -> None:
        self._count()
        super().rename(old, new)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write(path, b"old")
    files.write(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, number: int
) -> None:
    path = tmp_path / "a.json"
    files.write(path, b"old")
    monkeypatch.setattr(files, "disk", FailingDisk(at, number))
    expected = {errno.ENOSPC: DiskFull, errno.EIO: OSError, errno.EROFS: BadInput}[number]
    with pytest.raises(expected):
        files.write(path, b"new")
    # Only the very last act (forcing the folder's names out) comes after the rename.
    assert path.read_bytes() == (b"new" if at == 5 else b"old")
    monkeypatch.undo()
    files.write(path, b"newest")
    assert path.read_bytes() == b"newest"


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Disk):
        def write(self, file: int, data: bytes | memoryview) -> int:
            return super().write(file, data[:3])

    monkeypatch.setattr(files, "disk", Slow())
    files.write(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_checksums_agree_with_the_system_tool(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"everlearn")
    said = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    assert said.split()[0] == files.sha256(b"everlearn")


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    files.remove(tmp_path / "nothing")
    assert not list(tmp_path.iterdir())


@only_root
def test_a_folder_of_somebody_else_is_refused_with_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = f"pathlib.Path({str(tmp_path / 'a')!r})"
    said = said_to_nobody("import pathlib; from everlearn import files", f"files.write({path}, b'x')")
    assert "cannot write" in said
    assert not list(tmp_path.iterdir())
