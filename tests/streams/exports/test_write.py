"""Exports with workers equal exports of one process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.streams import sprites
from everlearn.streams.exports import FORMATS, export, export_tasks, load
from everlearn.streams.exports.write import Wait

from .tiny_stream import tree

STREAM = sprites(n_tasks=4, image_size=16, classes_per_task=2, factor_values=2, split=(8, 3, 3))


@contextmanager
def some_tasks(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
    """A worker that writes every second task, the last first."""
    made = tuple(reversed(tasks[::2]))
    export_tasks(folder, made)
    yield lambda k: k in made


@pytest.mark.parametrize("to", FORMATS.names())
def test_files_do_not_depend_on_workers(tmp_path: Path, to: str) -> None:
    export(STREAM, tmp_path / "serial", to=to)
    export(STREAM, tmp_path / "parallel", to=to, workers=some_tasks)
    assert tree(tmp_path / "parallel") == tree(tmp_path / "serial")


def test_format_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my_codec.py"
    file.write_text("from everlearn.streams.exports.formats import Npz\n\nclass Mine(Npz): pass\n")
    export(STREAM, tmp_path / "export", to=f"{file}:Mine")
    assert load(tmp_path / "export").task(3) == STREAM.task(3)
    assert "as a stream again" in (tmp_path / "export" / "README.md").read_text()


def test_workers_keep_intact_tasks_and_rewrite_damaged_ones(tmp_path: Path) -> None:
    export(STREAM, tmp_path / "serial")

    @contextmanager
    def damaging(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
        export_tasks(folder, tasks)
        whole, damaged = (folder / f"task-00000{k}" / "val.npz" for k in (0, 1))
        before = whole.stat().st_ino
        damaged.write_bytes(b"")
        export_tasks(folder, tasks)
        assert whole.stat().st_ino == before
        yield lambda k: True

    export(STREAM, tmp_path / "parallel", workers=damaging)
    assert tree(tmp_path / "parallel") == tree(tmp_path / "serial")


def test_export_tasks_needs_an_unfinished_export(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not an unfinished export; start it with"):
        export_tasks(tmp_path, [0])
    assert not list(tmp_path.iterdir())


def test_export_tasks_refuses_tasks_outside_the_plan(tmp_path: Path) -> None:
    @contextmanager
    def excessive(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
        export_tasks(folder, [0, 9])
        yield lambda k: True

    with pytest.raises(BadInput, match="task 9 is not part of the export in"):
        export(STREAM, tmp_path, workers=excessive)
