"""Exports that are interrupted at every disk operation."""

import errno
import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.streams.exports import FORMATS, export, load

from .tiny_stream import TinyStream, tree

TASKS = range(2)


class CountingDisk(files.Disk):
    """A disk that fails at one operation: before, during or after it."""

    def __init__(self, at: int | None = None, moment: str = "before", fail=None) -> None:
        self.n_operations, self.at, self.moment, self.fail = 0, at, moment, fail
        self.lock = threading.Lock()

    def _operate(self, name, *args):
        operation = getattr(files.Disk, name)
        with self.lock:
            self.n_operations += 1
            number = self.n_operations
        if number != self.at:
            return operation(self, *args)
        if self.moment == "within" and name == "write":
            operation(self, args[0], args[1][: len(args[1]) // 2])
        if self.moment == "after":
            operation(self, *args)
        return self.fail()

    def open(self, *args):
        return self._operate("open", *args)

    def write(self, *args):
        return self._operate("write", *args)

    def sync(self, *args):
        return self._operate("sync", *args)

    def rename(self, *args):
        return self._operate("rename", *args)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def disk_full():
    raise OSError(errno.ENOSPC, "No space left on device")


def export_and_kill(folder: Path, to: str, at: int, moment: str) -> None:
    files.disk = CountingDisk(at, moment, kill_self)
    export(TinyStream(), folder, to=to, tasks=TASKS)


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """For each format, the files of an uninterrupted export and its number of disk operations."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for to in FORMATS.names():
            disk = CountingDisk()
            patch.setattr(files, "disk", disk)
            folder = tmp_path_factory.mktemp(to) / "new"
            export(TinyStream(), folder, to=to, tasks=TASKS)
            found[to] = (tree(folder), disk.n_operations)
    return found


def points(n_operations: int, n: int) -> list[int]:
    """Indices of n operations, including the first and the last."""
    return sorted({1 + i * (n_operations - 1) // (n - 1) for i in range(n)})


def check_killed_and_finished(tmp_path, complete, to, n_points):
    expected, n_operations = complete[to]
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["everlearn.streams", "pyarrow.parquet", "pytest"])
    for at in points(n_operations, n_points):
        for moment in ("before", "within", "after"):
            folder = tmp_path / f"{at}-{moment}"
            child = server.Process(target=export_and_kill, args=(folder, to, at, moment))
            child.start()
            child.join()
            assert child.exitcode == -signal.SIGKILL
            if not (folder / "manifest.json").exists():
                started = (folder / "unfinished").exists()
                with pytest.raises(
                    BadInput, match="is an unfinished export" if started else "is not an export"
                ):
                    load(folder)
            export(TinyStream(), folder, to=to, tasks=TASKS)
            assert tree(folder) == expected, (at, moment)


def check_full_disk_and_finished(tmp_path, complete, to, n_points):
    expected, n_operations = complete[to]
    for at in points(n_operations, n_points):
        folder = tmp_path / str(at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "disk", CountingDisk(at, "within", disk_full))
            with pytest.raises(BadInput, match=r"the disk is full while writing .*; free some space"):
                export(TinyStream(), folder, to=to, tasks=TASKS)
        assert not [path for path in (folder / "unfinished").glob("task-*") if path.is_dir()]
        export(TinyStream(), folder, to=to, tasks=TASKS)
        assert tree(folder) == expected, at


@pytest.mark.more
@pytest.mark.parametrize("to", FORMATS.names())
def test_killed_export_resumes_to_equal_files(tmp_path, complete, to):
    check_killed_and_finished(tmp_path, complete, to, n_points=3)


@pytest.mark.parametrize("to", FORMATS.names())
def test_full_disk_is_reported_and_export_resumes(tmp_path, complete, to):
    check_full_disk_and_finished(tmp_path, complete, to, n_points=8)


@pytest.mark.slow
@pytest.mark.parametrize("to", FORMATS.names())
@pytest.mark.parametrize("check", [check_killed_and_finished, check_full_disk_and_finished])
def test_export_resumes_after_interruption_at_any_disk_operation(tmp_path, complete, to, check):
    check(tmp_path, complete, to, n_points=80)  # all operations, except for PNG folders, which have 195


def test_resume_writes_only_missing_tasks(tmp_path):
    def stop_after_two(done, total, step):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(TinyStream(), tmp_path, progress=stop_after_two)
    stream = TinyStream()
    export(stream, tmp_path)
    assert set(stream.drawn) == {2, 3}
    unused = TinyStream()
    export(unused, tmp_path)
    assert unused.drawn == []


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_damaged_task_is_written_again(tmp_path, complete, damage):
    with pytest.raises(KeyboardInterrupt):
        export(TinyStream(), tmp_path, tasks=TASKS, progress=_interrupt_at(1))
    damage(tmp_path / "task-000000" / "val.npz")
    export(TinyStream(), tmp_path, tasks=TASKS)
    assert tree(tmp_path) == complete["npz"][0]


def test_concurrent_export_is_refused(tmp_path):
    def export_again(done, total, step):
        with pytest.raises(BadInput, match="another process is exporting into"):
            export(TinyStream(), tmp_path)

    export(TinyStream(), tmp_path, progress=export_again)
    load(tmp_path)


def test_progress_is_reported_per_task(tmp_path):
    reported = []
    export(TinyStream(), tmp_path, tasks=[0, 3], progress=lambda *step: reported.append(step))
    assert reported == [(0, 2, "task 0"), (1, 2, "task 3"), (2, 2, "done")]


def _interrupt_at(n: int):
    def interrupt(done, total, step):
        if done == n:
            raise KeyboardInterrupt

    return interrupt
