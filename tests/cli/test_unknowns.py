"""`everlearn ask --keep-unknown`, `--interactive` and `unknowns`; what they refuse."""

import os
import pty
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from everlearn import Recogniser
from tests.recognition.things import photo, thing

from .outcomes import Run, assert_refused


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of four things, and images of two others."""
    folder = tmp_path_factory.mktemp("unknowns")
    with Recogniser.open(folder / "memory", features="gradients") as memory:
        for number in range(4):
            memory.teach(thing(number), f"thing {number}")
    for number, angle in ((5, 0), (5, 90), (7, 20)):
        Image.fromarray(photo(number, angle=angle)).save(folder / f"new-{number}-{angle}.png")
    return folder


@pytest.fixture
def memory(taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of it, in the current folder."""
    shutil.copytree(taught, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of a terminal that is the standard input."""
    controller, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield controller
    os.close(controller)


@pytest.mark.usefixtures("memory")
def test_unknown_things_are_kept_named_and_discarded(run: Run) -> None:
    images = ("new-5-0.png", "new-5-90.png", "new-7-20.png")
    shown = run("ask", "memory", *images, "--keep-unknown").out
    assert "unknown 1, seen 2 times" in shown
    assert "unknown 2, seen 1 time " in shown
    listed = run("unknowns", "memory", "--json").data["unknowns"]
    assert [(each["number"], each["images"]) for each in listed] == [(1, 2), (2, 1)]
    assert listed[0]["first_seen"] in run("unknowns", "memory").out
    assert "taught blue mug with 2 images" in run("unknowns", "memory", "--name", "1", "blue mug").out
    assert run("ask", "memory", "new-5-0.png", "--json").data["answers"][0]["name"] == "blue mug"
    assert (
        "erased unknown 2: 1 image; 0 unknown things left" in run("unknowns", "memory", "--discard", "2").out
    )
    assert "has kept no unknown images" in run("unknowns", "memory").out


@pytest.mark.usefixtures("memory")
def test_each_name_is_asked_for_once(run: Run, typed: int) -> None:
    os.write(typed, b"a\0b\nblue mug\n\n")  # a name that is refused, a name, and Enter
    done = run("ask", "memory", "new-5-0.png", "new-5-90.png", "new-7-20.png", "--interactive", "--json")
    assert [each["named"] for each in done.data["answers"]] == ["blue mug", None, None]
    assert [each["name"] for each in done.data["answers"]] == [None, "blue mug", None]
    assert done.err.count("What is it?") == 3
    assert "is no valid class name" in done.err
    assert [each["number"] for each in run("unknowns", "memory", "--json").data["unknowns"]] == [2]


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("unknowns", "memory", "--name", "3", "mug"), "there is no unknown group 3; none are kept"),
        (("unknowns", "memory", "--name", "x", "mug"), "--name is 'x'; it must be a whole number"),
        (("unknowns", "memory", "--name", "1.5", "mug"), "--name is '1.5'; it must be a whole number"),
        (("unknowns", "memory", "--discard", "1.5"), "--discard is '1.5'; it must be a whole number"),
        (("unknowns", "memory", "--discard", "3"), "there is no unknown group 3"),
        (("unknowns", "memory", "--discard", "3", "--name", "3", "mug"), "give one of them"),
        (("unknowns", "nowhere"), "there is no memory in 'nowhere'"),
        (("ask", "memory", "new-5-0.png", "--interactive"), "--interactive needs a terminal"),
    ],
)
def test_one_sentence_for_invalid_input(run: Run, words: tuple[str, ...], sentence: str) -> None:
    done = run(*words)
    assert_refused(done)
    assert sentence in done.err
    assert not Path("memory/unknown").exists()
