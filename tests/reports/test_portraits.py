import itertools
from typing import get_args

import numpy as np
import pytest

from everlearn import streams
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.reports import portrait
from everlearn.reports.contact_sheet import MARGIN
from everlearn.streams import Batch, Split, Task
from everlearn.streams.scenarios.settings import ScenarioName

SIZE = 64
GRID = np.array(list(itertools.product([0.5, 0.75, 1.0], [0.0, 2.0], [0.2, 0.5, 0.8], [0.5])))


def poses(n: int) -> Factors:
    return Factors(**dict(zip(FACTOR_NAMES, np.tile(GRID, (n, 1)).T, strict=True)))


def task(
    n_labels: int = 2, size: int = SIZE, factors: bool = True, exemplars: bool = True, rgb: bool = False
) -> Task:
    """A task whose images are flat: image i of a label has gray 10 + i, exemplars have gray 1, 2, ..."""
    labels = np.repeat(np.arange(n_labels), len(GRID))
    shape = (1, size, size, 3) if rgb else (1, size, size)
    gray = np.tile(np.arange(len(GRID)) + 10, n_labels).reshape(-1, *[1] * (len(shape) - 1))
    images = np.ones(shape, np.uint8) * gray.astype(np.uint8)
    kept = np.arange(n_labels if exemplars else 0)
    canon = np.ones(shape, np.uint8) * (kept + 1).astype(np.uint8).reshape(-1, *[1] * (len(shape) - 1))

    def draw(split: Split) -> Batch:
        return Batch(images, labels, poses(n_labels) if factors else None)

    return Task(0, tuple(range(n_labels)), draw, lambda: Batch(canon, kept))


def grays(page: np.ndarray, row: int) -> list[int]:
    """The grays of a row's tiles, read off the page from left to right."""
    line = page[MARGIN + 24 + row * (SIZE + 4) + 1, :, 0]
    runs = [gray for gray, _ in itertools.groupby(line.tolist())]
    return [gray for gray in runs if gray < 60]


def wanted(**wish: float) -> int:
    """The gray of the image with these factors and else the canonical ones."""
    pose = {"scale": 1.0, "angle": 0.0, "x": 0.5, "y": 0.5, **wish}
    return 10 + int(np.flatnonzero(np.equal(GRID, list(pose.values())).all(axis=1))[0])


def test_columns_change_one_factor_at_a_time() -> None:
    page = np.asarray(portrait(task()))
    scales = [wanted(scale=value) for value in (0.5, 0.75, 1.0)]
    angles = [wanted(angle=value) for value in (0.0, 2.0)]
    places = [wanted(x=value) for value in (0.2, 0.5, 0.8)]
    for row in range(2):
        assert grays(page, row) == [row + 1, *scales, *angles, *places, 10, 11, 12]


def test_where_factors_are_unknown_images_come_as_they_come() -> None:
    page = np.asarray(portrait(task(factors=False)))
    assert grays(page, 0) == [1, *range(10, 22)]


def test_a_stream_without_canonical_images_has_no_such_column() -> None:
    page = np.asarray(portrait(task(exemplars=False, factors=False)))
    assert grays(page, 1) == list(range(10, 22))


def test_at_most_so_many_rows() -> None:
    assert portrait(task(n_labels=12)).height == portrait(task(n_labels=10)).height
    assert portrait(task(n_labels=12), max_rows=3).height < portrait(task(n_labels=4)).height


@pytest.mark.parametrize("size", [16, 32, 64, 128, 512])
def test_images_of_any_size_make_a_page_of_one_size(size: int) -> None:
    assert portrait(task(size=size)).size == portrait(task()).size


def test_colour_stays() -> None:
    assert portrait(task(rgb=True)).size == portrait(task()).size


@pytest.mark.parametrize(
    ("scenario", "boundaries"),
    [
        *((scenario, "sharp") for scenario in get_args(ScenarioName)),
        *(("class-incremental", boundaries) for boundaries in ("blurry", "gradual", "recurring")),
        ("domain-incremental", "gradual"),
        ("nc", "recurring"),
    ],
)
def test_tasks_of_every_scenario_have_a_portrait(scenario: str, boundaries: str) -> None:
    stream = streams.sprites(
        image_size=16,
        factor_values=2,
        classes_per_task=3,
        split=(8, 4, 4),
        scenario=scenario,
        boundaries=boundaries,
    )
    for k in (0, 1, 4):
        assert portrait(stream.task(k)).width > SIZE
