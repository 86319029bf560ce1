"""The files of CORe50, as it is given out."""

import re
from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.pictures.folders import is_picture, prepare_picture, read_below
from everlearn.streams.pictures.places import data_root, first_folder, listed
from everlearn.streams.pictures.sessions import FilmGallery

FOLDERS = ("core50_128x128", "core50", "core50_imgs")
TESTED = (3, 7, 10)
"""The sessions that the data set's own protocol tests on."""


def open_core50(data: Path | None, *, drawn_size: int, rgb: bool = True, every: int = 1) -> FilmGallery:
    """The frames of CORe50, found by name and not yet opened.

    Args:
        data: the folder with s1, s2, ..., or one that holds it; what EVERLEARN_DATA names if not said.
        drawn_size: the size at which they will be shown, in pixels.
        rgb: keep colours, or only light and shade.
        every: take only every so many-th frame.
    """
    root = _root(data)
    sessions = _numbered(root, "s")
    objects = {s: set(_numbered(root / name, "o")) for s, name in sessions.items()}
    _check(root, objects)
    films = {}
    for o in sorted(next(iter(objects.values()))):
        frames = {s: _frames(root, f"{name}/o{o}")[::every] for s, name in sessions.items()}
        train = [files for s, files in frames.items() if s not in TESTED]
        films[f"object {o}"] = train, [files for s, files in frames.items() if s in TESTED]
    return FilmGallery(
        films=films, read=partial(read_below, root), prepare=prepare_picture(drawn_size, rgb=rgb)
    )


def _root(data: Path | None) -> Path:
    wanted = "CORe50 (s1/o1/C_01_01_000.png and so on)"
    base = data_root(data, wanted)
    found = first_folder(base, FOLDERS, ("s1",))
    if found is None:
        raise BadInput(f"{str(base)!r} holds no folder s1; name the one that holds {wanted}")
    return found


def _numbered(folder: Path, letter: str) -> dict[int, str]:
    """The sub-folders called by a letter and a number, in the order of the numbers."""
    names = [entry.name for entry in listed(folder) if entry.is_dir()]
    numbers = {int(name[1:]): name for name in names if re.fullmatch(rf"{letter}[1-9]\d{{0,3}}", name)}
    return dict(sorted(numbers.items()))


def _check(root: Path, objects: dict[int, set[int]]) -> None:
    """Every object in every session, and sessions of both kinds."""
    everywhere = set.union(*objects.values())
    for s, there in objects.items():
        if missing := sorted(everywhere - there):
            raise BadInput(f"session s{s} in {str(root)!r} lacks object o{missing[0]}; put it there")
    tested = [s for s in objects if s in TESTED]
    if not tested or len(tested) == len(objects) or not everywhere:
        there_are = ", ".join(f"s{s}" for s in objects)
        raise BadInput(
            f"{str(root)!r} has sessions {there_are}; some of s3, s7 and s10, which are for the test, and "
            "some others are needed, with objects o1, o2, ... in them"
        )


def _frames(root: Path, name: str) -> list[str]:
    frames = [f"{name}/{entry.name}" for entry in listed(root / name) if is_picture(entry)]
    if not frames:
        raise BadInput(f"there is no picture in {str(root / name)!r}; put the frames there")
    return frames
