"""CSV files that list images with labels and splits."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from everlearn.errors import BadInput, unknown
from everlearn.streams.images.dataset import FileDataset, LabelledFile, read_file
from everlearn.streams.images.folder import SPLIT_FOLDERS, prepare_image

DEFAULT_COLUMNS = {
    "image": ("image", "path", "file", "filename"),
    "label": ("label", "class"),
    "split": ("split",),
}


def open_csv(
    path: Path,
    *,
    columns: Mapping[str, str | None],
    drawn_size: int,
    rgb: bool,
    is_cut_out: bool = False,
) -> FileDataset:
    """The images that a CSV file lists; paths are relative to its folder.

    `columns` has the titles of the columns image, label and split; None selects a usual title.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            files = list(_rows(path, csv.DictReader(file), columns))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{str(path)!r} cannot be read as CSV ({error}); give a file in UTF-8") from None
    return FileDataset.of_files(
        files,
        source=repr(str(path)),
        read=partial(read_file, path.parent),
        prepare=partial(prepare_image, drawn_size=drawn_size, rgb=rgb, is_cut_out=is_cut_out),
    )


def _rows(
    path: Path, reader: "csv.DictReader[str]", columns: Mapping[str, str | None]
) -> Iterator[LabelledFile]:
    titles = reader.fieldnames or ()
    image, label, split = (_column(path, titles, name, given) for name, given in columns.items())
    for row in reader:
        place = f"line {reader.line_num} of {str(path)!r}"
        file, name = ((row[column] or "").strip() for column in (image, label))
        if not file or not name:
            raise BadInput(f"{place} has no {label if file else image}; complete or remove it")
        if not (path.parent / file).is_file():
            raise BadInput(f"{place} names the image {file!r}, which does not exist; correct the path")
        kind = (row[split] or "").strip().lower() if split else "train"
        if kind not in SPLIT_FOLDERS:
            raise BadInput(f"{place} has the split {kind!r}; it must be train, val or test")
        yield LabelledFile(file, name, SPLIT_FOLDERS[kind])


def _column(path: Path, titles: Sequence[str], name: str, given: str | None) -> str:
    """The title of a column; empty if there is none for splits."""
    if given is not None:
        if given not in titles:
            raise unknown(f"column of {str(path)!r}", given, titles)
        return given
    found = [title for title in DEFAULT_COLUMNS[name] if title in titles]
    if not found and name != "split":
        raise BadInput(
            f"{str(path)!r} has no column {' or '.join(DEFAULT_COLUMNS[name])}; its columns are "
            f"{', '.join(titles) or 'none'}; rename one or set {name}_column="
        )
    return found[0] if found else ""
