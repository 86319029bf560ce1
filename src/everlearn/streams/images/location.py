"""Locations of data: the folder of all datasets, and a file or folder that a setting names."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from everlearn.errors import BadInput

VARIABLE = "EVERLEARN_DATA"


def data_folder() -> Path:
    """The folder of all datasets: EVERLEARN_DATA, or the user data folder of the operating system."""
    from platformdirs import user_data_path

    common = os.environ.get(VARIABLE)
    return Path(common).expanduser().absolute() if common else user_data_path("everlearn")


def data_root(data: Path | None, wanted: str) -> Path:
    """The absolute path of the folder of a dataset: `data`, or the folder of all datasets.

    A relative `data` that does not exist here is searched in the folder of all datasets, so that settings
    are portable. Error messages name the `wanted` dataset.
    """
    if data is None and not os.environ.get(VARIABLE) and not data_folder().is_dir():
        raise BadInput(
            f"the folder of {wanted} is not given; set {VARIABLE} or data= to the folder that contains it "
            "(`everlearn data list` shows what is found)"
        )
    candidates = _candidates(data)
    if found := [folder for folder in candidates if folder.is_dir()]:
        return found[0]
    setting = "data" if data is not None else VARIABLE
    raise BadInput(
        f"{setting} is {str(candidates[0])!r}, which is not a folder; give the one that contains {wanted}"
    )


def data_path(data: Path | None, wanted: str) -> Path:
    """The absolute path of a file or folder that a setting names, searched as in `data_root`."""
    if data is None:
        raise BadInput(f"{wanted} is not given; set data=")
    candidates = _candidates(data)
    if found := [path for path in candidates if path.exists()]:
        return found[0]
    places = " or ".join(repr(str(path)) for path in candidates)
    raise BadInput(f"{wanted} is not at {places}; correct data=")


def _candidates(data: Path | None) -> list[Path]:
    here = [data.expanduser().absolute()] if data is not None else []
    is_absolute = data is not None and data.expanduser().is_absolute()
    return here if is_absolute else [*here, data_folder() / (data or "")]


def first_folder(root: Path, names: Iterable[str], files: Sequence[str]) -> Path | None:
    """The first of some sub-folders, or the root itself, that contains one of some files."""
    folders = [*(root / name for name in names), root]
    return next((folder for folder in folders if any((folder / file).exists() for file in files)), None)
