import itertools
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from everlearn import files, streams
from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.reports import Heading, contact_sheet, image_sheet, save
from everlearn.reports.image_sheets import BACKGROUND, GROUP_GAP, MARGIN, TEXT_COLOR
from everlearn.streams import Batch, Split, Task
from everlearn.streams.scenarios.settings import ScenarioName


def numbered(n: int, size: int = 8, colour: bool = False) -> np.ndarray:
    """Flat images, each of its own gray."""
    shape = (n, size, size, 3) if colour else (n, size, size)
    return np.broadcast_to(
        np.arange(1, n + 1, dtype=np.uint8).reshape(-1, *[1] * (len(shape) - 1)), shape
    ).copy()


@given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 6), st.integers(1, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_positions_of_images(n: int, columns: int, gap: int, upscale: int, colour: bool) -> None:
    images = numbered(n, colour=colour)
    page = np.asarray(image_sheet(images, columns=columns, gap=gap, upscale=upscale))
    side = 8 * upscale
    for i in range(n):
        row, column = divmod(i, columns)
        y, x = MARGIN + row * (side + gap), MARGIN + column * (side + gap)
        assert (page[y : y + side, x : x + side] == i + 1).all()
    assert (page == BACKGROUND).all(axis=2).sum() == page.shape[0] * page.shape[1] - n * side * side


def test_colour_is_kept() -> None:
    red = np.zeros((1, 4, 4, 3), np.uint8)
    red[..., 0] = 200
    assert image_sheet(red, columns=1).getpixel((MARGIN, MARGIN)) == (200, 0, 0)


def test_captions_and_headings_enlarge_the_page() -> None:
    images = numbered(4)
    without_text = image_sheet(images, columns=2)
    with_text = image_sheet(
        images, columns=2, captions=["one", "two"], headings=[Heading("a", 1), Heading("b", 1)]
    )
    dark = np.asarray(with_text).min(axis=2)
    assert with_text.width > without_text.width
    assert with_text.height > without_text.height
    assert (np.asarray(with_text) == TEXT_COLOR).all(axis=2).any()
    assert {1, 2, 3, 4} <= set(np.unique(dark))


def test_groups_of_columns_have_larger_gaps() -> None:
    images = numbered(3)
    together = image_sheet(images, columns=3, gap=2, headings=[Heading("all", 3)])
    apart = image_sheet(images, columns=3, gap=2, headings=[Heading("a", 2), Heading("b", 1)])
    assert apart.width - together.width == 2 * (GROUP_GAP - 1)


@pytest.mark.parametrize(
    ("images", "arguments", "message"),
    [
        (numbered(4), {"columns": 0}, "columns is 0"),
        (numbered(4), {"columns": 2, "gap": -1}, "gap is -1"),
        (numbered(4), {"columns": 2, "upscale": 0}, "upscale is 0"),
        (numbered(4), {"columns": 2, "captions": ["one"]}, "1 captions for 2 rows"),
        (numbered(4), {"columns": 2, "headings": [Heading("a", 3)]}, "cover 3 of 2 columns"),
        (numbered(4).astype(float), {"columns": 2}, "float64"),
        (numbered(4)[0], {"columns": 2}, r"shape \(8, 8\)"),
        (numbered(0), {"columns": 2}, r"shape \(0, 8, 8\)"),
        (np.zeros((4, 512, 512), np.uint8), {"columns": 1, "upscale": 64}, "too large"),
    ],
)
def test_invalid_arguments_are_refused(images: np.ndarray, arguments: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        image_sheet(images, **arguments)


def test_save_png(tmp_path: Path) -> None:
    page = image_sheet(numbered(4), columns=2)
    path = save(page, tmp_path / "a.png")
    with Image.open(path) as read:
        assert np.array_equal(np.asarray(read), np.asarray(page))
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_save_gif(tmp_path: Path) -> None:
    pages = [image_sheet(numbered(4) * k, columns=2) for k in (1, 2, 3)]
    path = save(pages, tmp_path / "a.gif", frame_ms=40)
    with Image.open(path) as read:
        assert read.n_frames == 3
        assert read.info["loop"] == 0
        for k, page in enumerate(pages):
            read.seek(k)
            assert read.info["duration"] == 40
            assert np.abs(np.asarray(read.convert("RGB")).astype(int) - np.asarray(page)).max() <= 4


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.gif", "missing/a.png", "folder.png"])
def test_invalid_paths_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(BadInput, match="cannot write"):
        save(image_sheet(numbered(1), columns=1), tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["folder.png"]


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(image_sheet(numbered(1), columns=1), tmp_path / "a.png")
    before = path.read_bytes()

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.disk, "write", full)
    with pytest.raises(BadInput, match="the disk is full"):
        save(image_sheet(numbered(2), columns=1), path)
    assert path.read_bytes() == before


SIZE = 64
GRID = np.array(list(itertools.product([0.5, 0.75, 1.0], [0.0, 2.0], [0.2, 0.5, 0.8], [0.5])))


def factors_of(n: int) -> Factors:
    return Factors(**dict(zip(FACTOR_NAMES, np.tile(GRID, (n, 1)).T, strict=True)))


def task(
    n_labels: int = 2, size: int = SIZE, factors: bool = True, exemplars: bool = True, rgb: bool = False
) -> Task:
    """A task whose images are flat: image i of a label has gray 10 + i, exemplars have gray 1, 2, ..."""
    labels = np.repeat(np.arange(n_labels), len(GRID))
    shape = (1, size, size, 3) if rgb else (1, size, size)
    gray = np.tile(np.arange(len(GRID)) + 10, n_labels).reshape(-1, *[1] * (len(shape) - 1))
    images = np.ones(shape, np.uint8) * gray.astype(np.uint8)
    shown = np.arange(n_labels if exemplars else 0)
    canonical = np.ones(shape, np.uint8) * (shown + 1).astype(np.uint8).reshape(-1, *[1] * (len(shape) - 1))

    def draw(split: Split) -> Batch:
        return Batch(images, labels, factors_of(n_labels) if factors else None)

    return Task(0, tuple(range(n_labels)), draw, lambda: Batch(canonical, shown))


def grays(page: np.ndarray, row: int) -> list[int]:
    """The grays of the tiles of a row, from left to right."""
    line = page[MARGIN + 24 + row * (SIZE + 4) + 1, :, 0]
    runs = [gray for gray, _ in itertools.groupby(line.tolist())]
    return [gray for gray in runs if gray < 60]


def gray_of(**factors: float) -> int:
    """The gray of the image with these factors; the others are canonical."""
    pose = {"scale": 1.0, "angle": 0.0, "x": 0.5, "y": 0.5, **factors}
    return 10 + int(np.flatnonzero(np.equal(GRID, list(pose.values())).all(axis=1))[0])


def test_columns_vary_one_factor_at_a_time() -> None:
    page = np.asarray(contact_sheet(task()))
    scales = [gray_of(scale=value) for value in (0.5, 0.75, 1.0)]
    angles = [gray_of(angle=value) for value in (0.0, 2.0)]
    positions = [gray_of(x=value) for value in (0.2, 0.5, 0.8)]
    for row in range(2):
        assert grays(page, row) == [row + 1, *scales, *angles, *positions, 10, 11, 12]


def test_first_images_are_shown_without_factors() -> None:
    page = np.asarray(contact_sheet(task(factors=False)))
    assert grays(page, 0) == [1, *range(10, 22)]
    page = np.asarray(contact_sheet(task(exemplars=False, factors=False)))
    assert grays(page, 1) == list(range(10, 22)), "no canonical column without exemplars"


def test_max_rows() -> None:
    heights = [contact_sheet(task(n_labels=n)).height for n in (4, 10, 12)]
    assert heights[0] < heights[1] == heights[2]


def test_size_of_the_page_does_not_depend_on_size_and_colour_of_images() -> None:
    sheets = [contact_sheet(each) for each in (task(), task(size=16), task(size=512), task(rgb=True))]
    assert len({sheet.size for sheet in sheets}) == 1


@pytest.mark.parametrize(
    ("scenario", "boundaries"),
    [
        *((scenario, "sharp") for scenario in get_args(ScenarioName)),
        *(("class-incremental", boundaries) for boundaries in ("blurry", "gradual", "recurring")),
        ("domain-incremental", "gradual"),
        ("nc", "recurring"),
    ],
)
def test_contact_sheets_of_all_scenarios(scenario: str, boundaries: str) -> None:
    settings = {"image_size": 16, "factor_values": 2, "classes_per_task": 3, "split": (8, 4, 4)}
    stream = streams.sprites(**settings, scenario=scenario, boundaries=boundaries)
    for k in (0, 1, 4):
        assert contact_sheet(stream.task(k)).width > SIZE
