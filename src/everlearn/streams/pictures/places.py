"""Where the real pictures lie on this machine, and in which order."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from everlearn.errors import BadInput

VARIABLE = "EVERLEARN_DATA"


def data_root(data: Path | None, wanted: str) -> Path:
    """The folder to look in: `data` if given, else the one that the variable EVERLEARN_DATA names.

    A relative `data` that is not a folder here is looked for in EVERLEARN_DATA, so that settings can
    travel between machines.

    Args:
        data: the setting.
        wanted: what is looked for, for the complaint.
    """
    common = os.environ.get(VARIABLE)
    if data is None and not common:
        raise BadInput(
            f"nobody said where {wanted} lies; set {VARIABLE}, or data=, to the folder that holds it"
        )
    places = [data.expanduser()] if data is not None else []
    if common:
        places.append(Path(common).expanduser() / (data or ""))
    for place in places:
        if place.is_dir():
            return place
    said = "data" if data is not None else VARIABLE
    raise BadInput(
        f"{said} names {str(places[0])!r}, which is not a folder; name the one that holds {wanted}"
    )


def first_folder(root: Path, names: Iterable[str], files: Iterable[str]) -> Path | None:
    """The first of some sub-folders, or the root itself, that holds one of some files."""
    stems = tuple(files)
    folders = [*(root / name for name in names), root]
    return next((f for f in folders if any((f / stem).exists() for stem in stems)), None)


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder, without hidden things, in an order no file system or language changes."""
    try:
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise BadInput(
            f"the folder {str(folder)!r} cannot be read ({error.strerror}); look at its rights"
        ) from None
    return sorted(visible, key=lambda entry: name_order(entry.name))


def name_order(name: str) -> tuple[str, str]:
    """What names are sorted by: their letters, however the file system composes the accents.

    Example:
        >>> sorted(["b", "Z", "a"], key=name_order)
        ['Z', 'a', 'b']
        >>> name_order("e" + chr(0x301))[0] == name_order(chr(0xE9))[0]
        True
    """
    return unicodedata.normalize("NFC", name), name


def readable(name: str) -> str:
    r"""A name that can be printed and written to JSON, whatever bytes the file system gave.

    Example:
        >>> readable("caf\udce9")
        'caf\\xe9'
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
