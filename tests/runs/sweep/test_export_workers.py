"""Exports by real worker processes."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Capacity, executors, local_executor
from everlearn.runs.sweep.export_workers import export_workers
from everlearn.streams import sprites
from everlearn.streams.exports import export
from tests.streams.exports.tiny_stream import TinyStream, tree

STREAM = sprites(n_tasks=16, image_size=16, classes_per_task=2, factor_values=2, split=(8, 3, 3))
TWO = export_workers(Capacity(workers=2), local_executor)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of an export by one process."""
    folder = tmp_path_factory.mktemp("one")
    export(STREAM, folder, to="webdataset")
    return tree(folder)


def interrupt_at(n: int) -> Callable[[int, int, str], None]:
    def progress(done: int, total: int, note: str) -> None:
        if done == n:
            raise KeyboardInterrupt

    return progress


@pytest.mark.more
def test_interrupted_and_damaged_export_is_completed(tmp_path: Path, expected: dict[str, bytes]) -> None:
    with pytest.raises(KeyboardInterrupt):
        export(STREAM, tmp_path, to="webdataset", workers=TWO, progress=interrupt_at(4))
    (tmp_path / "task-000001" / "train.tar").write_bytes(b"")
    export(STREAM, tmp_path, to="webdataset", workers=TWO)
    assert tree(tmp_path) == expected


def test_tasks_of_killed_workers_are_written_by_the_caller(
    tmp_path: Path, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledProcess(executors.ChildProcess):
        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)  # type: ignore[arg-type]  # passed on
            os.kill(self.pid, signal.SIGKILL)

    monkeypatch.setattr(executors, "ChildProcess", KilledProcess)
    export(STREAM, tmp_path, to="webdataset", workers=TWO)
    assert tree(tmp_path) == expected


def test_stream_that_workers_cannot_build_is_written_by_the_caller(tmp_path: Path) -> None:
    export(TinyStream(), tmp_path / "two", workers=TWO)
    export(TinyStream(), tmp_path / "one")
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


def test_errors_are_raised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file; give a folder"):
        export(STREAM, tmp_path / "file", workers=TWO)
