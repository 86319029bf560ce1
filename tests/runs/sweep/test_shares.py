"""Real processes that make an export together."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Capacity, this_machine
from everlearn.runs.sweep.export_workers import shared_among
from everlearn.streams import sprites
from everlearn.streams.exports import export
from tests.streams.exports.tiny_stream import TinyStream, tree

STREAM = sprites(n_tasks=16, image_size=16, classes_per_task=2, factor_values=2, split=(8, 3, 3))
TWO = shared_among(Capacity(workers=2), this_machine)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("serial")
    export(STREAM, folder, to="webdataset")
    return tree(folder)


def stop_at(n: int) -> Callable[[int, int, str], None]:
    def stop(done: int, total: int, word: str) -> None:
        if done == n:
            raise KeyboardInterrupt

    return stop


def test_interrupted_export_is_finished_by_workers(tmp_path: Path, alone: dict[str, bytes]) -> None:
    with pytest.raises(KeyboardInterrupt):
        export(STREAM, tmp_path, to="webdataset", workers=TWO, progress=stop_at(4))
    (tmp_path / "task-000001" / "train.tar").write_bytes(b"")
    export(STREAM, tmp_path, to="webdataset", workers=TWO)
    assert tree(tmp_path) == alone


def test_tasks_of_killed_workers_are_written_by_the_driver(
    tmp_path: Path, alone: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from everlearn.runs.sweep import executors

    class Doomed(executors.Child):
        """A child that is killed as soon as it is there."""

        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)  # type: ignore[arg-type]  # whatever a child takes
            os.kill(self.pid, signal.SIGKILL)

    monkeypatch.setattr(executors, "Child", Doomed)
    export(STREAM, tmp_path, to="webdataset", workers=TWO)
    assert tree(tmp_path) == alone


def test_stream_unknown_to_workers_is_written_by_the_driver(tmp_path: Path) -> None:
    export(TinyStream(), tmp_path / "parallel", workers=TWO)
    export(TinyStream(), tmp_path / "serial")
    assert tree(tmp_path / "parallel") == tree(tmp_path / "serial")


def test_errors_of_workers_are_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="workers is 0"):
        shared_among(Capacity(workers=0), this_machine)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file; give a folder"):
        export(STREAM, tmp_path / "file", workers=TWO)
