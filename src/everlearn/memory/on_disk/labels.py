"""Checks of the labels, names and columns of new images of an on-disk memory."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.memory.on_disk.storage import NAME_BYTES, RowFile
from everlearn.memory.table import AnyArray
from everlearn.rng import IntArray

MAX_LABEL = 2**63 - 2


def as_labels(labels: npt.ArrayLike) -> IntArray:
    """Labels as an array (n,), if they are integers from 0 up."""
    array = np.asarray(labels)
    is_integer = array.ndim == 1 and (array.dtype.kind in "iu" or not len(array))
    if not is_integer or (array < 0).any() or (array > MAX_LABEL).any():
        raise BadInput(f"labels are {labels!r:.80}; give a flat list of integers from 0 up")
    return array.astype(np.int64)


def checked_name(name: str) -> str:
    """The name of a class, if it is a valid one."""
    if not name.strip() or not name.isprintable() or len(name.encode()) > NAME_BYTES:
        raise BadInput(f"{name!r:.80} is no valid class name; give 1 to {NAME_BYTES} bytes of printable text")
    return name


def new_names(labels: IntArray, names: Sequence[str], known: IntArray) -> list[str]:
    """The names of new classes, one for each image, if none of the classes is among the known labels."""
    pairs = {*zip(labels.tolist(), names, strict=False)}
    if len(names) != len(labels) or len(pairs) > len(np.unique(labels)):
        raise BadInput(f"{len(names)} names for {len(labels)} images; give one name per new class")
    exist = labels[np.isin(labels, known)]
    if len(exist):
        raise BadInput(f"label {exist[0]} exists already; add its image without a name, or rename it")
    return [checked_name(name) for name in names]


def check_columns(columns: Mapping[str, AnyArray], stored: Mapping[str, RowFile], n: int) -> None:
    """Raise unless there are n rows of the right shape for each column of the memory, and no other column."""
    given = {name: np.shape(values) for name, values in columns.items()}
    expected = {name: (n, *file.shape) for name, file in stored.items()}
    if given != expected:
        raise BadInput(f"the columns have shapes {given}; this memory needs {expected}")
