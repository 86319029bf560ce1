"""A task at a glance: its labels down the page and its factors across."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.chance import FloatArray
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.reports.sheets import Heading, Pictures, sheet
from everlearn.streams.batch import Batch
from everlearn.streams.task import Task

MAX_ROWS = 10
TILE = 64
VALUES_SHOWN = 5
MIXED_SHOWN = 3
PLAIN_SHOWN = 12


def portrait(task: Task, *, max_rows: int = MAX_ROWS) -> Image.Image:
    """A page with a row for each label: its canonical picture, then one factor changing at a time.

    Only pictures that are really in the task are shown: of each label, those training images that come
    nearest to the wished factors. Where no factor is known to vary, the first training images are shown.

    Args:
        task: which task.
        max_rows: labels shown at most.
    """
    # A label of a blurred task may be there only to be tested on.
    labels = np.unique(task.train.labels)[:max_rows].tolist()
    groups = _groups(task.train.factors)
    columns = sum(heading.n_columns for heading, _ in groups)
    rows = [_row(task.train, label, [wish for _, wish in groups]) for label in labels]
    headings = [heading for heading, _ in groups]
    exemplars = [task.exemplars.images[task.exemplars.labels == label][:1] for label in labels]
    if all(len(exemplar) for exemplar in exemplars):
        rows = [np.concatenate(pair) for pair in zip(exemplars, rows, strict=True)]
        headings, columns = [Heading("canonical", 1), *headings], columns + 1
    images = _about_a_tile(np.concatenate(rows))
    return sheet(
        images,
        columns=columns,
        upscale=max(1, TILE // images.shape[1]),
        captions=[f"label {label}" for label in labels],
        headings=headings,
    )


def _groups(factors: Factors | None) -> list[tuple[Heading, Factors | int]]:
    """The groups of columns: a heading with the factors one would like to see, or with a number of images."""
    varying = [] if factors is None else list(_varying(factors))
    if not varying:
        return [(Heading("training images", PLAIN_SHOWN), PLAIN_SHOWN)]
    wished = [(Heading(name, len(wish)), wish) for name, wish in varying]
    return [*wished, (Heading("all together", MIXED_SHOWN), MIXED_SHOWN)]


def _varying(factors: Factors) -> Iterator[tuple[str, Factors]]:
    """The factors that have several values: each alone away from its canonical one."""
    for name in (*FACTOR_NAMES, "colour"):
        found = np.unique(getattr(factors, name), axis=0)
        if len(found) > 1:
            yield name, Factors(**{name: _spread(found)})


def _spread(found: FloatArray) -> FloatArray:
    """A few of the values that occur, from the first to the last."""
    n = min(VALUES_SHOWN, len(found))
    return np.asarray(found[np.linspace(0, len(found) - 1, n).astype(int)])


def _row(train: Batch, label: int, wishes: list[Factors | int]) -> Pictures:
    """The images of one label that fulfil the wishes best."""
    own = train[train.labels == label]
    picks = [_nearest(own, wish) if isinstance(wish, Factors) else _some(own, wish) for wish in wishes]
    return own.images[np.concatenate(picks)]


def _some(batch: Batch, n: int) -> npt.NDArray[np.intp]:
    return np.arange(n) % len(batch)


def _nearest(batch: Batch, wish: Factors) -> npt.NDArray[np.intp]:
    assert batch.factors is not None  # noqa: S101 # wishes are only made where factors are known
    apart = _place(wish)[:, None] - _place(batch.factors)[None]
    return np.asarray((apart**2).sum(axis=2).argmin(axis=1))


def _place(factors: Factors) -> FloatArray:
    """Where factors lie in a space in which a full turn leads back to the start."""
    columns = [factors.scale, np.cos(factors.angle), np.sin(factors.angle), factors.x, factors.y]
    return np.column_stack([*columns, factors.colour])


def _about_a_tile(images: Pictures) -> Pictures:
    """Large pictures, shrunk by averaging whole blocks of pixels."""
    block = max(1, images.shape[1] // TILE)
    n, height, width = images.shape[0], images.shape[1] // block, images.shape[2] // block
    cut = images[:, : height * block, : width * block]
    blocks = cut.reshape(n, height, block, width, block, *images.shape[3:])
    return np.asarray(blocks.mean(axis=(2, 4)).round(), dtype=np.uint8)
