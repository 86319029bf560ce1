"""Streams of a user's own images: arrays, PyTorch and Hugging Face datasets, folders and CSV files.

Arrays and datasets in memory are validated and stacked. The settings of their streams contain a hash of them,
and a record of a run contains a copy (`everlearn.streams.images.arrays`).
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, unknown
from everlearn.streams.images.data_settings import ArraySettings, CsvSettings, HuggingFaceSettings
from everlearn.streams.images.settings import FolderSettings
from everlearn.streams.stream import Stream

Array = npt.NDArray[Any]
COLOUR_MODES = {"1": "L", "L": "L", "LA": "RGBA", "PA": "RGBA", "RGBA": "RGBA"}
"""Pillow modes and the modes that they are converted to; all others become RGB."""


def from_arrays(
    images: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    test_images: npt.ArrayLike | None = None,
    test_labels: npt.ArrayLike | None = None,
    **settings: Any,
) -> Stream:
    """A stream of images in memory, at their own size unless `image_size` is set.

    Args:
        images: (n, H, W) or (n, H, W, channels), also with the channels first; integers in 0..255 or floats
            in 0..1.
        labels: (n,) whole numbers from 0.
        names: the name of each class.
        test_images: images for testing; default: a fraction of the images, see `split`.
        test_labels: their labels.
        settings: of `ArraySettings`: classes_per_task, scenario, boundaries, split, seed and others.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (40, 12, 12), dtype=np.uint8)
        >>> from_arrays(images, np.arange(40) % 4, classes_per_task=2)
        <arrays/class-incremental-v1: 2 tasks>
    """
    given = {"images": images, "labels": labels, "names": names}
    return _stream({**given, "test_images": test_images, "test_labels": test_labels}, settings)


def from_torch(
    dataset: Any, test: Any = None, *, names: Sequence[str] | None = None, **settings: Any
) -> Stream:
    """A stream of a map-style PyTorch dataset of pairs (image, label), read once into memory.

    Images are tensors (C, H, W), arrays or images of Pillow. Leave out normalization and augmentation: values
    must be in 0..1 or 0..255, and each image is read once.

    Args:
        dataset: the images for training, or all images if `test` is not given.
        test: a dataset of images for testing.
        names: the name of each class; default: `dataset.classes`, if there is one.
        settings: as for `from_arrays`. Images of different sizes are fitted to `image_size` if it is set.

    Example:
        >>> pairs = [(np.full((10, 10), i, np.uint8), i % 2) for i in range(20)]
        >>> from_torch(pairs, classes_per_task=1).task(1).train.labels.tolist()
        [1, 1, 1, 1, 1, 1, 1]
    """
    names = getattr(dataset, "classes", None) if names is None else names
    parts: dict[str, Any] = {"names": names}
    for prefix, each, title in (("", dataset, "the dataset"), ("test_", test, "the test dataset")):
        if each is not None:
            images, labels = _pairs(each, title)
            parts |= {f"{prefix}images": images, f"{prefix}labels": labels}
    return _stream(parts, settings)


def from_huggingface(
    dataset: Any,
    test: Any = None,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
    **settings: Any,
) -> Stream:
    """A stream of a Hugging Face dataset: a path on this machine, a `Dataset` or a `DatasetDict`.

    Images of a path are decoded when they are needed, and the record of a run contains the path. A dataset in
    memory is read once and copied into the record.

    Args:
        dataset: a folder of `save_to_disk` or of Parquet files, a .parquet file, or a dataset in memory.
        test: a dataset in memory with images for testing, if `dataset` has no split of that name.
        image_column: the column with images; default: the first one.
        label_column: the column with labels; default: label, labels, fine_label or class.
        settings: of `HuggingFaceSettings` for a path, otherwise as for `from_torch`.

    Example:
        >>> from datasets import Dataset, Features, Image, Value
        >>> images = [np.full((12, 12), 10 * number, np.uint8) for number in range(20)]
        >>> rows = {"image": images, "label": ["cat", "dog"] * 10}
        >>> dataset = Dataset.from_dict(rows, Features(image=Image(), label=Value("string")))
        >>> from_huggingface(dataset, classes_per_task=1)
        <arrays/class-incremental-v1: 2 tasks>
    """
    if isinstance(dataset, str | Path):
        columns = {"image_column": image_column, "label_column": label_column}
        return HuggingFaceSettings(data=Path(dataset), **columns, **settings).build()
    from everlearn.streams.images import huggingface

    splits = huggingface.splits_of(dataset) | ({} if test is None else {"test": test})
    image, label = huggingface.columns_of(splits["train"], image_column, label_column)
    labels = {split: huggingface.labels_of(each, label) for split, each in splits.items()}
    names = huggingface.class_names(splits["train"], label) or _sorted_names(labels.values())
    numbers = {name: number for number, name in enumerate(names)}
    for split, found in labels.items():
        if missing := sorted({*found} - {*names}):
            raise unknown(f"label of {split} images", missing[0], names)
    if "test" not in splits and "val" in splits:
        splits["test"], labels["test"] = splits.pop("val"), labels.pop("val")
    parts: dict[str, Any] = {"names": names}
    for split, each in splits.items():
        prefix = "" if split == "train" else f"{split}_"
        parts[f"{prefix}images"] = [to_array(row[image]) for row in each]
        parts[f"{prefix}labels"] = [numbers[name] for name in labels[split]]
    return _stream(parts, settings)


def from_folder(path: str | Path, **settings: Any) -> Stream:
    """A stream of a folder of images: one sub-folder per class, perhaps in folders train, val and test.

    Args:
        path: the folder, or a zip file of it.
        settings: of `FolderSettings`: image_size, classes_per_task, scenario, split, seed and others.

    Example:
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> folder = Path(mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (folder / name).mkdir()
        ...     for number in range(5):
        ...         Image.new("RGB", (30, 20)).save(folder / name / f"{number}.png")
        >>> from_folder(folder, image_size=16, classes_per_task=1)
        <folder/class-incremental-v1: 2 tasks>
    """
    return FolderSettings(data=Path(path), **settings).build()


def from_csv(path: str | Path, **settings: Any) -> Stream:
    """A stream of a CSV file with the columns image (a path, relative to the file) and label.

    Args:
        path: the file; a column split may contain train, val or test.
        settings: of `CsvSettings`: image_column, label_column, image_size, classes_per_task and others.

    Example:
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> file = Path(mkdtemp(), "table.csv")
        >>> with file.open("w") as table:
        ...     print("image,label", file=table)
        ...     for number in range(8):
        ...         Image.new("RGB", (20, 20)).save(file.parent / f"{number}.png")
        ...         print(f"{number}.png", "cat" if number % 2 else "dog", sep=",", file=table)
        >>> from_csv(file, image_size=16, classes_per_task=1)
        <csv/class-incremental-v1: 2 tasks>
    """
    return CsvSettings(data=Path(path), **settings).build()


def to_array(image: Any) -> Array:
    """An image of Pillow, a tensor (C, H, W) or an array as (H, W) or (H, W, C)."""
    from everlearn.streams.images.validation import CHANNELS, to_numpy

    if hasattr(image, "convert"):
        return np.asarray(image.convert(COLOUR_MODES.get(image.mode, "RGB")))
    array = to_numpy(image)
    if array.ndim == 3 and array.shape[-1] not in CHANNELS and array.shape[0] in CHANNELS:
        array = np.moveaxis(array, 0, -1)
    return array[..., 0] if array.ndim == 3 and array.shape[-1] == 1 else array


def _pairs(dataset: Any, name: str) -> tuple[list[Array], list[int]]:
    """The images and labels of a dataset."""
    if not hasattr(dataset, "__len__"):
        raise BadInput(f"{name} is a {type(dataset).__name__} without a length; give a map-style dataset")
    images, labels = [], []
    for i in range(len(dataset)):
        item = dataset[i]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise BadInput(f"item {i} of {name} is a {type(item).__name__}; it must be a pair (image, label)")
        try:
            labels.append(operator.index(item[1]))
        except TypeError:
            raise BadInput(
                f"item {i} of {name} has the label {item[1]!r}; it must be a whole number"
            ) from None
        images.append(to_array(item[0]))
    return images, labels


def _sorted_names(labels: Iterable[Sequence[str]]) -> tuple[str, ...]:
    from everlearn.streams.images.dataset import label_order

    found = {name for part in labels for name in part}
    return tuple(sorted(found, key=label_order(found)))


def _stream(parts: dict[str, Any], settings: dict[str, Any]) -> Stream:
    from everlearn.streams.images.arrays import arrays_of, register_arrays

    lists = {name: part for name, part in parts.items() if name.endswith("images") and isinstance(part, list)}
    arrays = arrays_of({**parts, **_with_equal_shapes(lists, settings.get("image_size"))})
    return ArraySettings(content=register_arrays(arrays), **settings).build()


def _with_equal_shapes(lists: dict[str, list[Array]], image_size: int | None) -> dict[str, list[Array]]:
    """Lists of images with the same channels, and fitted to `image_size` if their sizes differ."""
    from everlearn.streams.images.validation import to_numpy

    images = [to_numpy(image) for part in lists.values() for image in part]
    convert: Callable[[Array], Array] = to_numpy
    if image_size is not None and len({image.shape[:2] for image in images}) > 1:
        convert = _fit_to(image_size)
    elif len({image.ndim for image in images}) > 1:
        convert = _to_colour
    return {name: [convert(to_numpy(image)) for image in part] for name, part in lists.items()}


def _to_colour(image: Array) -> Array:
    return np.repeat(image[..., None], 3, axis=-1) if image.ndim == 2 else image


def _fit_to(size: int) -> Callable[[Array], Array]:
    from everlearn.streams.images.arrays import to_rgba
    from everlearn.streams.images.decode import fitted
    from everlearn.streams.images.validation import check_images

    return lambda image: fitted(to_rgba(check_images(image[None]))[0], (size, size, 3))
