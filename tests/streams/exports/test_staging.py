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

    def __init__(self, at: int | None = None, moment: str = "before", strike=None) -> None:
        self.acts, self.at, self.moment, self.strike = 0, at, moment, strike
        self.counting = threading.Lock()

    def _act(self, name, *args):
        act = getattr(files.Disk, name)
        with self.counting:
            self.acts += 1
            number = self.acts
        if number != self.at:
            return act(self, *args)
        if self.moment == "within" and name == "write":
            act(self, args[0], args[1][: len(args[1]) // 2])
        if self.moment == "after":
            act(self, *args)
        return self.strike()

    def open(self, *args):
        return self._act("open", *args)

    def write(self, *args):
        return self._act("write", *args)

    def sync(self, *args):
        return self._act("sync", *args)

    def rename(self, *args):
        return self._act("rename", *args)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def full():
    raise OSError(errno.ENOSPC, "No space left on device")


def export_and_kill(folder: Path, to: str, at: int, moment: str) -> None:
    files.disk = CountingDisk(at, moment, kill_self)
    export(TinyStream(), folder, to=to, tasks=TASKS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """For each format, the files of an export that nothing disturbed, and how many acts it took."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for to in FORMATS:
            disk = CountingDisk()
            patch.setattr(files, "disk", disk)
            folder = tmp_path_factory.mktemp(to) / "new"
            export(TinyStream(), folder, to=to, tasks=TASKS)
            found[to] = (tree(folder), disk.acts)
    return found


def points(acts: int, n: int) -> list[int]:
    """Some n of the acts, the first and the last among them."""
    return sorted({1 + i * (acts - 1) // (n - 1) for i in range(n)})


def check_killed_and_finished(tmp_path, whole, to, n_points):
    files_of_whole, acts = whole[to]
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["everlearn.streams", "pyarrow.parquet", "pytest"])
    for at in points(acts, n_points):
        for moment in ("before", "within", "after"):
            folder = tmp_path / f"{at}-{moment}"
            child = server.Process(target=export_and_kill, args=(folder, to, at, moment))
            child.start()
            child.join()
            assert child.exitcode == -signal.SIGKILL
            if not (folder / "manifest.json").exists():
                begun = (folder / "unfinished").exists()
                with pytest.raises(
                    BadInput, match="is an unfinished export" if begun else "is not an export"
                ):
                    load(folder)
            export(TinyStream(), folder, to=to, tasks=TASKS)
            assert tree(folder) == files_of_whole, (at, moment)


def check_starved_and_finished(tmp_path, whole, to, n_points):
    files_of_whole, acts = whole[to]
    for at in points(acts, n_points):
        folder = tmp_path / str(at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "disk", CountingDisk(at, "within", full))
            with pytest.raises(BadInput, match=r"the disk is full while writing .*; free some space"):
                export(TinyStream(), folder, to=to, tasks=TASKS)
        assert not [path for path in (folder / "unfinished").glob("task-*") if path.is_dir()]
        export(TinyStream(), folder, to=to, tasks=TASKS)
        assert tree(folder) == files_of_whole, at


@pytest.mark.parametrize("to", FORMATS)
def test_killed_export_resumes_to_equal_files(tmp_path, whole, to):
    check_killed_and_finished(tmp_path, whole, to, n_points=4)


@pytest.mark.parametrize("to", FORMATS)
def test_full_disk_is_reported_and_export_resumes(tmp_path, whole, to):
    check_starved_and_finished(tmp_path, whole, to, n_points=12)


@pytest.mark.slow
@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("check", [check_killed_and_finished, check_starved_and_finished])
def test_export_resumes_after_interruption_at_any_disk_operation(tmp_path, whole, to, check):
    check(tmp_path, whole, to, n_points=80)  # every act there is, but for the 195 of PNG folders


def test_resume_writes_only_missing_tasks(tmp_path):
    def stop_after_two(done, total, word):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(TinyStream(), tmp_path, progress=stop_after_two)
    stream = TinyStream()
    export(stream, tmp_path)
    assert set(stream.drawn) == {2, 3}
    idle = TinyStream()
    export(idle, tmp_path)
    assert idle.drawn == []


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_damaged_task_is_written_again(tmp_path, whole, damage):
    with pytest.raises(KeyboardInterrupt):
        export(TinyStream(), tmp_path, tasks=TASKS, progress=_interrupt_at(1))
    damage(tmp_path / "task-000000" / "val.npz")
    export(TinyStream(), tmp_path, tasks=TASKS)
    assert tree(tmp_path) == whole["npz"][0]


def test_concurrent_export_is_refused(tmp_path):
    def intrude(done, total, word):
        with pytest.raises(BadInput, match="another process is exporting into"):
            export(TinyStream(), tmp_path)

    export(TinyStream(), tmp_path, progress=intrude)
    load(tmp_path)


def test_progress_is_reported_per_task(tmp_path):
    reported = []
    export(TinyStream(), tmp_path, tasks=[0, 3], progress=lambda *words: reported.append(words))
    assert reported == [(0, 2, "task 0"), (1, 2, "task 3"), (2, 2, "done")]


def _interrupt_at(n: int):
    def interrupt(done, total, word):
        if done == n:
            raise KeyboardInterrupt

    return interrupt
