"""Hugging Face datasets: their splits, columns and labels, and datasets of images that they store."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.errors import BadInput, import_optional, unknown
from everlearn.streams.images.dataset import FileDataset, LabelledFile, read_file
from everlearn.streams.images.folder import SPLIT_FOLDERS, prepare_image

if TYPE_CHECKING:
    import datasets

INSTALL = "pip install datasets"
SAVED = ("dataset_info.json", "dataset_dict.json", "state.json")
"""Files of a dataset that was saved with save_to_disk."""
LABEL_COLUMNS = ("label", "labels", "fine_label", "class")


class Columns(NamedTuple):
    """The names of the columns with images and labels."""

    image: str
    label: str


def read_splits(path: Path) -> "dict[str, datasets.Dataset]":
    """The splits of a dataset in a folder or a .parquet file: train, and val and test if there are any."""
    library = import_optional("datasets", INSTALL)
    try:
        if any((path / name).exists() for name in SAVED):
            found = library.load_from_disk(str(path))
        elif path.is_file():
            found = library.load_dataset("parquet", data_files=str(path))
        else:
            found = library.load_dataset(str(path))
    except Exception as error:  # the library and pyarrow raise many types of errors
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"{str(path)!r} cannot be read as a Hugging Face dataset ({reason}); give a folder of "
            "save_to_disk or of Parquet files"
        ) from None
    return splits_of(found)


def splits_of(found: Any) -> "dict[str, datasets.Dataset]":
    """The splits of a Dataset or DatasetDict, with the names train, val and test."""
    library = import_optional("datasets", INSTALL)
    if isinstance(found, library.Dataset):
        return {"train": found}
    if not isinstance(found, Mapping):
        raise BadInput(
            f"the dataset is a {type(found).__name__}; give a datasets.Dataset or DatasetDict, no stream"
        )
    splits = {SPLIT_FOLDERS[name]: found[name] for name in found if name in SPLIT_FOLDERS}
    if "train" not in splits:
        raise BadInput(f"the dataset has the splits {', '.join(map(str, found))}; it needs a split train")
    return splits


def columns_of(dataset: "datasets.Dataset", image: str | None = None, label: str | None = None) -> Columns:
    """The columns with images and labels: those that are given, or the first that fit."""
    from datasets import ClassLabel, Image

    features = dataset.features
    for given in (image, label):
        if given is not None and given not in features:
            raise unknown("column of the dataset", given, features)
    images = [name for name, feature in features.items() if isinstance(feature, Image)]
    labels = [name for name in LABEL_COLUMNS if name in features]
    labels += [name for name, feature in features.items() if isinstance(feature, ClassLabel)]
    for name, found in (("image", [image] if image else images), ("label", [label] if label else labels)):
        if not found or (name == "image" and found[0] not in images):
            raise BadInput(
                f"the dataset has no {name} column that can be used, its columns are {', '.join(features)}; "
                f"rename or cast one, or set {name}_column="
            )
    return Columns(image or images[0], label or labels[0])


def class_names(dataset: "datasets.Dataset", column: str) -> tuple[str, ...]:
    """The names of the classes as the dataset declares them; empty if it does not."""
    return tuple(getattr(dataset.features[column], "names", ()))


def labels_of(dataset: "datasets.Dataset", column: str) -> list[str]:
    """The class name of each row."""
    names = class_names(dataset, column)
    found = []
    for row, label in enumerate(dataset[column]):
        if not isinstance(label, int | str) or (isinstance(label, int) and label < 0) or label == "":
            raise BadInput(
                f"row {row} of the dataset has the label {label!r}; it must be a name or a number from 0, "
                "remove unlabelled rows"
            )
        found.append(names[label] if names and isinstance(label, int) else str(label))
    return found


class StoredImages:
    """The encoded images of the splits of a dataset; an image is named by its split and row."""

    def __init__(self, splits: "Mapping[str, datasets.Dataset]", column: str) -> None:
        from datasets import Image

        self._splits = {name: each.cast_column(column, Image(decode=False)) for name, each in splits.items()}
        self._column = column

    def read(self, name: str) -> bytes:
        """The bytes of an image file."""
        split, row = name.split("/")
        stored = self._splits[split][int(row)][self._column]
        if stored is None:
            raise BadInput(f"row {row} of split {split} of the dataset has no image; remove it")
        return stored["bytes"] or read_file(Path(), stored["path"])


def open_huggingface(
    path: Path,
    *,
    image_column: str | None,
    label_column: str | None,
    drawn_size: int,
    rgb: bool,
    is_cut_out: bool = False,
) -> FileDataset:
    """The images of a dataset on this machine, decoded on first use."""
    splits = read_splits(path)
    columns = columns_of(splits["train"], image_column, label_column)
    files = [
        LabelledFile(f"{split}/{row}", label, split)
        for split, dataset in splits.items()
        for row, label in enumerate(labels_of(dataset, columns.label))
    ]
    return FileDataset.of_files(
        files,
        source=repr(str(path)),
        read=StoredImages(splits, columns.image).read,
        prepare=partial(prepare_image, drawn_size=drawn_size, rgb=rgb, is_cut_out=is_cut_out),
        order=class_names(splits["train"], columns.label),
    )
