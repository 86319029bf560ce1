import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.files import Disk, DiskFull, FolderLock, lock_holder

from .unprivileged import only_root, unprivileged_output


class FailingDisk(Disk):
    """Fails with an error number at the n-th operation; a failing write is half done."""

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


def test_write_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write(path, b"old")
    files.write(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


ERRORS = [(errno.ENOSPC, DiskFull), (errno.EIO, OSError), (errno.EROFS, BadInput)]


@pytest.mark.parametrize(("number", "expected"), ERRORS)
def test_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception]
) -> None:
    path = tmp_path / "a.json"
    for at in range(1, 6):
        files.write(path, b"old")
        monkeypatch.setattr(files, "disk", FailingDisk(at, number))
        with pytest.raises(expected):
            files.write(path, b"new")
        # Only the last operation, which flushes the folder, comes after the rename.
        assert path.read_bytes() == (b"new" if at == 5 else b"old")
        monkeypatch.undo()
    files.write(path, b"newest")
    assert path.read_bytes() == b"newest"


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class ShortWrites(Disk):
        def write(self, file: int, data: bytes | memoryview) -> int:
            return super().write(file, data[:3])

    monkeypatch.setattr(files, "disk", ShortWrites())
    files.write(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_sha256_agrees_with_sha256sum(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"everlearn")
    output = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    assert output.split()[0] == files.sha256(b"everlearn")


def test_remove_ignores_missing_files(tmp_path: Path) -> None:
    files.remove(tmp_path / "nothing")
    assert not list(tmp_path.iterdir())


@only_root
def test_folder_without_write_permission_is_rejected(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = f"pathlib.Path({str(tmp_path / 'a')!r})"
    output = unprivileged_output("import pathlib; from everlearn import files", f"files.write({path}, b'x')")
    assert "cannot write" in output
    assert not list(tmp_path.iterdir())


def test_second_lock_is_refused_with_the_holder(tmp_path: Path) -> None:
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    refused = pytest.raises(BadInput, match=rf"is open in process {os.getpid()} on ")
    with FolderLock(tmp_path), refused, FolderLock(tmp_path):
        pass
    with FolderLock(tmp_path):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files


def test_shared_locks_exclude_only_exclusive_ones(tmp_path: Path) -> None:
    with FolderLock(tmp_path, shared=True), FolderLock(tmp_path, shared=True):
        with pytest.raises(BadInput, match="is open in another process"), FolderLock(tmp_path):
            pass
        with FolderLock(tmp_path, name=".other"):
            pass


HOLD = """
import sys, pathlib
from everlearn.files import FolderLock
with FolderLock(pathlib.Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_lock_is_released_when_the_process_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert lock_holder(tmp_path) == process.pid
        process.kill()
        with FolderLock(tmp_path, wait=True):
            pass


def test_symbolic_link_as_lock_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("unchanged")
    (tmp_path / ".lock").symlink_to(target)
    with pytest.raises(BadInput, match="cannot write"), FolderLock(tmp_path):
        pass
    assert target.read_text() == "unchanged"


def test_lock_holder(tmp_path: Path) -> None:
    assert lock_holder(tmp_path) is None
    with FolderLock(tmp_path):
        assert lock_holder(tmp_path) == os.getpid()
    assert lock_holder(tmp_path) is None
    (tmp_path / ".lock").write_text("process 99999999 on elsewhere\n")
    assert lock_holder(tmp_path) is None
