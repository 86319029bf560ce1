"""An export of which others make some tasks is the export that one process makes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.streams import sprites
from everlearn.streams.exports import FORMATS, export, make_share
from everlearn.streams.exports.write import Wait

from .tiny_stream import tree

STREAM = sprites(n_tasks=4, image_size=16, classes_per_task=2, factor_values=2, split=(8, 3, 3))


@contextmanager
def helpful(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
    """Somebody who makes every second task, and the last of them first."""
    made = tuple(reversed(tasks[::2]))
    make_share(folder, made)
    yield lambda k: k in made


@pytest.mark.parametrize("to", FORMATS)
def test_it_makes_no_difference_who_makes_what(tmp_path: Path, to: str) -> None:
    export(STREAM, tmp_path / "alone", to=to)
    export(STREAM, tmp_path / "together", to=to, others=helpful)
    assert tree(tmp_path / "together") == tree(tmp_path / "alone")


def test_a_share_leaves_alone_what_is_whole_and_mends_what_is_not(tmp_path: Path) -> None:
    export(STREAM, tmp_path / "alone")

    @contextmanager
    def careless(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
        make_share(folder, tasks)
        whole, damaged = (folder / f"task-00000{k}" / "val.npz" for k in (0, 1))
        before = whole.stat().st_ino
        damaged.write_bytes(b"")
        make_share(folder, tasks)
        assert whole.stat().st_ino == before
        yield lambda k: True

    export(STREAM, tmp_path / "together", others=careless)
    assert tree(tmp_path / "together") == tree(tmp_path / "alone")


def test_a_share_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not an export under way; begin it with `everlearn stream export`"):
        make_share(tmp_path, [0])
    assert not list(tmp_path.iterdir())


def test_tasks_of_others_are_refused(tmp_path: Path) -> None:
    @contextmanager
    def greedy(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
        make_share(folder, [0, 9])
        yield lambda k: True

    with pytest.raises(BadInput, match="task 9 is not one of the export in"):
        export(STREAM, tmp_path, others=greedy)
