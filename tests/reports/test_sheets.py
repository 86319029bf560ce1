from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from everlearn import files
from everlearn.errors import BadInput
from everlearn.reports import Heading, save, sheet
from everlearn.reports.contact_sheet import GROUP_GAP, INK, MARGIN, PAPER


def numbered(n: int, size: int = 8, colour: bool = False) -> np.ndarray:
    """Flat images, each of its own gray."""
    shape = (n, size, size, 3) if colour else (n, size, size)
    return np.broadcast_to(
        np.arange(1, n + 1, dtype=np.uint8).reshape(-1, *[1] * (len(shape) - 1)), shape
    ).copy()


@given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 6), st.integers(1, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_image_is_whole_and_in_its_place(
    n: int, columns: int, gap: int, upscale: int, colour: bool
) -> None:
    images = numbered(n, colour=colour)
    page = np.asarray(sheet(images, columns=columns, gap=gap, upscale=upscale))
    side = 8 * upscale
    for i in range(n):
        row, column = divmod(i, columns)
        y, x = MARGIN + row * (side + gap), MARGIN + column * (side + gap)
        assert (page[y : y + side, x : x + side] == i + 1).all()
    assert (page == PAPER).all(axis=2).sum() == page.shape[0] * page.shape[1] - n * side * side


def test_colour_is_kept() -> None:
    red = np.zeros((1, 4, 4, 3), np.uint8)
    red[..., 0] = 200
    assert sheet(red, columns=1).getpixel((MARGIN, MARGIN)) == (200, 0, 0)


def test_words_take_room_of_their_own() -> None:
    images = numbered(4)
    bare = sheet(images, columns=2)
    told = sheet(images, columns=2, captions=["one", "two"], headings=[Heading("a", 1), Heading("b", 1)])
    dark = np.asarray(told).min(axis=2)
    assert told.width > bare.width
    assert told.height > bare.height
    assert (np.asarray(told) == INK).all(axis=2).any()
    assert {1, 2, 3, 4} <= set(np.unique(dark))


def test_groups_of_columns_stand_apart() -> None:
    images = numbered(3)
    together = sheet(images, columns=3, gap=2, headings=[Heading("all", 3)])
    apart = sheet(images, columns=3, gap=2, headings=[Heading("a", 2), Heading("b", 1)])
    assert apart.width - together.width == 2 * (GROUP_GAP - 1)


@pytest.mark.parametrize(
    ("images", "how", "complaint"),
    [
        (numbered(4), {"columns": 0}, "columns is 0"),
        (numbered(4), {"columns": 2, "gap": -1}, "gap is -1"),
        (numbered(4), {"columns": 2, "upscale": 0}, "upscale is 0"),
        (numbered(4), {"columns": 2, "captions": ["one"]}, "1 captions for 2 rows"),
        (numbered(4), {"columns": 2, "headings": [Heading("a", 3)]}, "cover 3 columns of 2"),
        (numbered(4).astype(float), {"columns": 2}, "float64"),
        (numbered(4)[0], {"columns": 2}, r"shape \(8, 8\)"),
        (numbered(0), {"columns": 2}, r"shape \(0, 8, 8\)"),
        (np.zeros((4, 512, 512), np.uint8), {"columns": 1, "upscale": 64}, "too large"),
    ],
)
def test_what_cannot_be_drawn_is_refused(images: np.ndarray, how: dict, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        sheet(images, **how)


def test_a_page_is_saved_whole(tmp_path: Path) -> None:
    page = sheet(numbered(4), columns=2)
    path = save(page, tmp_path / "a.png")
    with Image.open(path) as read:
        assert np.array_equal(np.asarray(read), np.asarray(page))
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_an_animation_keeps_its_pages_and_grays(tmp_path: Path) -> None:
    pages = [sheet(numbered(4) * k, columns=2) for k in (1, 2, 3)]
    path = save(pages, tmp_path / "a.gif", frame_ms=40)
    with Image.open(path) as read:
        assert read.n_frames == 3
        assert read.info["loop"] == 0
        for k, page in enumerate(pages):
            read.seek(k)
            assert read.info["duration"] == 40
            assert np.abs(np.asarray(read.convert("RGB")).astype(int) - np.asarray(page)).max() <= 4


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.gif", "missing/a.png", "folder.png"])
def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(BadInput, match="cannot write"):
        save(sheet(numbered(1), columns=1), tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["folder.png"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(sheet(numbered(1), columns=1), tmp_path / "a.png")
    before = path.read_bytes()

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.disk, "write", full)
    with pytest.raises(BadInput, match="the disk is full"):
        save(sheet(numbered(2), columns=1), path)
    assert path.read_bytes() == before
