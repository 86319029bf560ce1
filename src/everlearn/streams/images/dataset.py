"""Datasets of images: the protocol, and datasets of files that are decoded on first use."""

import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.compose import RawImages
from everlearn.streams.images.decode import MAX_FILE_BYTES, decode

Pixels = npt.NDArray[np.uint8]

CACHE_BYTES = 2**28
SPLIT_ORDER = ("train", "val", "test")


class Dataset(Protocol):
    """Classes of images; the images of a class are indexed from 0."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""

    def class_name(self, class_id: int) -> str:
        """A name for display."""

    def n_images(self, class_id: int) -> int:
        """The number of images of a class, at least one."""

    def n_test(self, class_id: int) -> int:
        """How many of its last images are test images of the dataset; 0 if it has no test split."""

    def n_val(self, class_id: int) -> int:
        """How many images before these are validation images; 0 if the dataset has no validation split."""
        return 0

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        """One image per row."""


class ImageCache:
    """LRU cache of images, limited by bytes; pickled without its content."""

    def __init__(self, limit: int) -> None:
        self.limit, self.nbytes = limit, 0
        self._images: OrderedDict[str, Pixels] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["ImageCache"], tuple[int]]:
        return ImageCache, (self.limit,)

    def get(self, name: str, load: Callable[[], Pixels]) -> Pixels:
        """The cached image, or the result of `load`, which is then cached."""
        with self._lock:
            if name in self._images:
                self._images.move_to_end(name)
                return self._images[name]
        image = load()
        image.setflags(write=False)
        with self._lock:
            self.nbytes += image.nbytes - self._images.pop(name, image[:0]).nbytes
            self._images[name] = image
            while self.nbytes > self.limit and self._images:
                self.nbytes -= self._images.popitem(last=False)[1].nbytes
        return image


class LabelledFile(NamedTuple):
    """An image file, its class and its split."""

    name: str
    label: str
    split: str = "train"


class FileDataset(Dataset):
    """A dataset of image files, by the name of each class; recently used images are cached in memory.

    `read` returns the bytes of a file, `prepare` converts its decoded pixels (H, W, 4) to the cached image.
    The last `n_test` files of each class are test images, the `n_val` files before them validation images.
    """

    n_classes: int = 0

    def __init__(
        self,
        *,
        files: Mapping[str, Sequence[str]],
        read: Callable[[str], bytes],
        prepare: Callable[[Pixels], Pixels],
        n_val: Sequence[int] | None = None,
        n_test: Sequence[int] | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._names, self._files = tuple(files), tuple(tuple(group) for group in files.values())
        self._read, self._prepare = read, prepare
        self._cache = ImageCache(cache_bytes)
        self.n_classes = len(self._names)
        none = (0,) * self.n_classes
        self._n_val, self._n_test = tuple(n_val or none), tuple(n_test or none)

    @classmethod
    def of_files(
        cls,
        files: Iterable[LabelledFile],
        *,
        source: str,
        read: Callable[[str], bytes],
        prepare: Callable[[Pixels], Pixels],
        order: Sequence[str] = (),
    ) -> Self:
        """From files with labels and splits; classes have the given order, or that of numbers or names.

        Validation images of a dataset without test images are its test images. Errors name the source.
        """
        found = list(files)
        if not any(file.split == "test" for file in found):
            found = [file._replace(split="test") if file.split == "val" else file for file in found]
        groups: dict[str, dict[str, list[str]]] = {label: {} for label in order}
        for file in found:
            groups.setdefault(file.label, {}).setdefault(file.split, []).append(file.name)
        _check_groups(groups, source)
        names = order or sorted(groups, key=label_order(groups))
        return cls(
            files={
                name: [file for split in SPLIT_ORDER for file in groups[name].get(split, ())]
                for name in names
            },
            n_val=[len(groups[name].get("val", ())) for name in names],
            n_test=[len(groups[name].get("test", ())) for name in names],
            read=read,
            prepare=prepare,
        )

    def class_name(self, class_id: int) -> str:
        return self._names[class_id]

    def n_images(self, class_id: int) -> int:
        return len(self._files[class_id])

    def n_test(self, class_id: int) -> int:
        return self._n_test[class_id]

    def n_val(self, class_id: int) -> int:
        return self._n_val[class_id]

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        def image(file: str) -> Pixels:
            return self._cache.get(file, lambda: self._prepare(decode(self._read(file), file)))

        return RawImages.of([image(self._files[c][i]) for c, i in zip(class_ids, indices, strict=True)])


def label_order(labels: Iterable[str]) -> Callable[[str], tuple[int, str]]:
    """The sort key of class names: by number if all are numbers, otherwise by name.

    Example:
        >>> sorted(["10", "9"], key=label_order(["10", "9"])), sorted(["b10", "b9"], key=label_order(["b9"]))
        (['9', '10'], ['b10', 'b9'])
    """
    are_numbers = all(label.isascii() and label.isdigit() for label in labels)
    return lambda label: (int(label) if are_numbers else 0, unicodedata.normalize("NFC", label))


def check_testable(dataset: Dataset) -> None:
    """Raise if a class has a single image, so that there is none for testing."""
    for c in range(dataset.n_classes):
        if dataset.n_images(c) < 2:
            raise BadInput(
                f"class {dataset.class_name(c)!r} has only one image, so there is none for testing; add "
                "images, give test images, or set n_poses=100 to show each image in 100 poses"
            )


def _check_groups(groups: Mapping[str, Mapping[str, Sequence[str]]], source: str) -> None:
    if not groups:
        raise BadInput(f"{source} contains no images; add some")
    has_test = any("test" in splits for splits in groups.values())
    for label, splits in groups.items():
        for split in ("train", "test") if has_test else ("train",):
            if split not in splits:
                raise BadInput(
                    f"class {label!r} of {source} has no {split} images; add some or remove the class"
                )


def read_file(root: Path, name: str) -> bytes:
    """The bytes of an image file in a folder; reading stops one byte above the limit."""
    try:
        with (root / name).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(
            f"{str(root / name)!r} cannot be read ({error.strerror}); restore it or check its permissions"
        ) from None
