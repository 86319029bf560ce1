"""What is known about images as a table of plain numbers, the same in every format."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.streams.batch import Batch, Images
from everlearn.streams.exports.manifest import PartRecord

COLOURS = ("red", "green", "blue")
FACTOR_COLUMNS = (*FACTOR_NAMES, *COLOURS)

Columns = dict[str, npt.NDArray[Any]]


def to_columns(batch: Batch, task: int) -> Columns:
    """Label, task and, where known, factors: one array each, one value per image.

    The task is always told, because in an export all tasks may be read together; whether a learner may
    know it stands in the manifest.
    """
    tasks = np.full(len(batch), task) if batch.tasks is None else batch.tasks
    columns: Columns = {"label": batch.labels, "task": tasks}
    if batch.factors is not None:
        columns |= {name: getattr(batch.factors, name) for name in FACTOR_NAMES}
        columns |= {name: batch.factors.colour[:, i] for i, name in enumerate(COLOURS)}
    return columns


def from_columns(
    images: Images, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]], part: PartRecord
) -> Batch:
    """The batch that `to_columns` was given."""
    return Batch(
        images,
        np.asarray(columns["label"], np.int64),
        _factors(columns) if part.factors else None,
        np.asarray(columns["task"], np.int64) if part.tasks else None,
    )


def empty(part: PartRecord) -> Batch:
    """The batch of a part without images."""
    nothing: list[float] = []
    columns = dict.fromkeys(("label", "task", *FACTOR_COLUMNS), nothing)
    return from_columns(np.zeros((0, *part.image_shape), np.uint8), columns, part)


def _factors(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> Factors:
    values = {name: np.asarray(columns[name], np.float64) for name in FACTOR_COLUMNS}
    colour = np.stack([values.pop(name) for name in COLOURS], axis=1)
    return Factors(**values, colour=colour)
