"""Images in memory: validated arrays, identified by a hash, and the dataset of their classes.

The settings of a stream contain the SHA-256 of its arrays (`ArraySettings.content`) instead of pixels; a
table of this process maps it to the arrays. A record has a copy:

* `save_content(spec, folder)` writes the arrays of a stream into a folder, as `data-<first 12 digits>.npz`;
  for settings without arrays in memory it does nothing;
* `add_content_folder(folder)` lets `spec.build()` find them there, also in another process; the hash is
  verified when the file is read.

The file has the layout that `everlearn.streams.arrays(data=...)` reads: images, labels and names, optionally
val_images and val_labels, test_images and test_labels.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn import files
from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.canonical import cut_out
from everlearn.streams.images.compose import RawImages
from everlearn.streams.images.dataset import Dataset, Pixels
from everlearn.streams.images.decode import OPAQUE, gray, premultiplied
from everlearn.streams.settings import StreamSettings

DIGITS = 12
"""Hexadecimal digits of the hash in the name of a file."""
PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Arrays:
    """Labelled images of one size, those for training first, then those for validation and testing.

    Attributes:
        images: (n, H, W) gray, (n, H, W, 3) colour or (n, H, W, 4) with alpha, uint8.
        labels: (n,) class ids, 0 to len(names) - 1.
        names: the name of each class.
        n_val: number of images for validation.
        n_test: number of images for testing, the last ones.
    """

    images: Pixels
    labels: IntArray
    names: tuple[str, ...]
    n_val: int = 0
    n_test: int = 0

    @cached_property
    def content(self) -> str:
        """The SHA-256 of images, labels, names and splits."""
        about = {"shape": self.images.shape, "names": self.names, "n_val": self.n_val, "n_test": self.n_test}
        digest = sha256(json.dumps(about).encode())
        digest.update(np.ascontiguousarray(self.images).data)
        digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()

    @property
    def in_colour(self) -> bool:
        """Whether the images have colours."""
        return self.images.ndim == 4

    @property
    def size(self) -> int:
        """The longer side of the images in pixels."""
        return max(self.images.shape[1:3])

    def parts(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays as they are in a file."""
        n = len(self.images)
        ends = [0, n - self.n_val - self.n_test, n - self.n_test, n]
        found: dict[str, npt.NDArray[Any]] = {"names": np.array(self.names)}
        for part, start, stop in zip(PARTS, ends, ends[1:], strict=False):
            prefix = "" if part == "train" else f"{part}_"
            if stop > start or part == "train":
                found[f"{prefix}images"] = self.images[start:stop]
                found[f"{prefix}labels"] = self.labels[start:stop]
        return found


_ARRAYS: dict[str, Arrays] = {}
_FOLDERS: list[Path] = []


def register_arrays(arrays: Arrays) -> str:
    """Add arrays to the table of this process; returns their hash."""
    _ARRAYS.setdefault(arrays.content, arrays)
    return arrays.content


def find_content(content: str) -> Arrays:
    """The arrays with a hash, from the table of this process or from a folder that was added."""
    if content not in _ARRAYS:
        paths = [folder / _file_name(content) for folder in _FOLDERS]
        if not (found := [path for path in paths if path.is_file()]):
            raise BadInput(
                f"the arrays of this stream (content {content[:DIGITS]}) are not in memory; pass the same "
                "arrays to from_arrays again, or open the record that contains them"
            )
        arrays = read_arrays(found[-1])
        if arrays.content != content:
            raise BadInput(
                f"{str(found[-1])!r} does not contain the arrays of the stream, its content is "
                f"{arrays.content[:DIGITS]}; restore it from a copy, or pass the arrays again"
            )
        register_arrays(arrays)
    return _ARRAYS[content]


def save_content(spec: StreamSettings, folder: Path) -> None:
    """Write the arrays of a stream into a folder, unless they are there or the stream has none."""
    content = getattr(spec, "content", None)
    if content is None or (path := folder / _file_name(content)).exists():
        return
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **find_content(content).parts())
    files.write(path, buffer.getvalue())


def add_content_folder(folder: Path) -> None:
    """Add a folder that is searched for the arrays of streams."""
    if (path := Path(folder).absolute()) not in _FOLDERS:
        _FOLDERS.append(path)


def content_folders() -> list[str]:
    """The folders that were added, to pass them to other processes."""
    return [str(folder) for folder in _FOLDERS]


def _file_name(content: str) -> str:
    return f"data-{content[:DIGITS]}.npz"


def open_npz(path: Path) -> Arrays:
    """The arrays in an .npz file, cached until the file changes."""
    found = path.stat()
    return _open(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _open(path: Path, modified: int, size: int) -> Arrays:
    return read_arrays(path)


def read_arrays(path: Path) -> Arrays:
    """The validated arrays in an .npz file; pickled objects are refused."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files} if hasattr(file, "files") else {}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise BadInput(
            f"{str(path)!r} is not an .npz file of arrays ({error}); write it with numpy.savez"
        ) from None
    for name in ("images", "labels"):
        if name not in found:
            raise BadInput(f"{str(path)!r} lacks the array {name!r}; it has {', '.join(found) or 'none'}")
    return arrays_of(found)


def arrays_of(parts: Mapping[str, Any]) -> Arrays:
    """Validated arrays from images and labels, test_images and test_labels, and names; see `Arrays.parts`."""
    from everlearn.streams.images.validation import check_classes, check_images, check_labels

    images: list[Pixels] = []
    labels: list[IntArray] = []
    for part in PARTS:
        prefix = "" if part == "train" else f"{part}_"
        given, targets = parts.get(f"{prefix}images"), parts.get(f"{prefix}labels")
        if part != "train" and given is None and targets is None:
            images.append(images[0][:0])
            labels.append(labels[0][:0])
            continue
        images.append(check_images(given, f"{prefix}images"))
        labels.append(check_labels(targets, len(images[-1]), f"{prefix}labels", f"{prefix}images"))
        if images[-1].shape[1:] != images[0].shape[1:]:
            raise BadInput(
                f"{prefix}images have the shape {images[-1].shape[1:]}, but images have "
                f"{images[0].shape[1:]}; give all the same size and channels"
            )
    names = parts.get("names")
    checked = check_classes(labels, None if names is None else [str(name) for name in names])
    n_val, n_test = len(images[1]), len(images[2])
    return Arrays(np.concatenate(images), np.concatenate(labels), checked, n_val, n_test)


class ArrayDataset(Dataset):
    """The classes of arrays; with `rgb` in colour, otherwise in gray, whole or cut out of the background."""

    n_classes: int = 0

    def __init__(self, arrays: Arrays, *, rgb: bool, is_cut_out: bool = False) -> None:
        self._arrays, self._rgb, self.n_classes = arrays, rgb, len(arrays.names)
        self._is_cut_out = is_cut_out
        # Stable, so that the images of a class are those for training, for validation and for testing.
        self._rows = np.argsort(arrays.labels, kind="stable")
        self._counts = np.bincount(arrays.labels, minlength=self.n_classes)
        self._first = np.array([0, *accumulate(self._counts.tolist())])[:-1]

    def class_name(self, class_id: int) -> str:
        return self._arrays.names[class_id]

    def n_images(self, class_id: int) -> int:
        return int(self._counts[class_id])

    def n_test(self, class_id: int) -> int:
        return self._count(class_id, len(self._arrays.labels) - self._arrays.n_test, None)

    def n_val(self, class_id: int) -> int:
        stop = len(self._arrays.labels) - self._arrays.n_test
        return self._count(class_id, stop - self._arrays.n_val, stop)

    def _count(self, class_id: int, start: int, stop: int | None) -> int:
        return int(np.count_nonzero(self._arrays.labels[start:stop] == class_id))

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        images = self._arrays.images[self._rows[self._first[class_ids] + indices]]
        if self._is_cut_out:
            found = [premultiplied(cut_out(each).pixels) for each in to_rgba(images)]
            return RawImages.of([each if self._rgb else gray(each) for each in found])
        rgba = premultiplied(_even_margins(to_rgba(images)))
        pixels = rgba if self._rgb else gray(rgba)
        n, height, width, channels = pixels.shape
        flat = pixels.ravel()
        flat.setflags(write=False)  # as in other datasets, so that the kernel is compiled once
        starts = np.arange(n, dtype=np.int64) * (height * width * channels)
        return RawImages(flat, starts, np.tile(np.array([height, width], np.int64), (n, 1)), channels)


def to_rgba(images: Pixels) -> Pixels:
    """Gray, colour or RGBA images as RGBA."""
    if images.ndim == 3:
        images = np.repeat(images[..., None], 3, axis=-1)
    if images.shape[-1] == 4:
        return images
    return np.concatenate([images, np.full_like(images[..., :1], OPAQUE)], axis=-1)


def _even_margins(images: Pixels) -> Pixels:
    """Images padded so that their margins on a square canvas are whole pixels and nothing is resampled."""
    difference = images.shape[1] - images.shape[2]
    pad = (0, 1) if difference % 2 else (0, 0)
    rows, columns = ((0, 0), pad) if difference > 0 else (pad, (0, 0))
    return np.pad(images, ((0, 0), rows, columns, (0, 0)))
