"""CORe50: fifty things held in front of a camera, in eleven sessions each."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from everlearn.errors import BadInput
from everlearn.factors import FactorSpace
from everlearn.rng import IntArray, rng_at
from everlearn.streams.images.dataset import Gallery, Pixels
from everlearn.streams.images.folder import (
    data_root,
    first_folder,
    is_image,
    listed,
    prepare_image,
    read_below,
)
from everlearn.streams.images.source import Canvas, ManyDrawings
from everlearn.streams.registry import builder
from everlearn.streams.settings import ImageSize
from everlearn.streams.sprite_sessions import ObjectSettings
from everlearn.streams.stream import Split, Stream

Films = Mapping[str, tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]]
"""The files of each class: of its sessions to learn from, and of those to be tested on."""


class FilmGallery(Gallery):
    """Classes of image files in sessions.

    Args:
        films: the files of each class by session.
        read: name of a file -> its bytes.
        prepare: decoded (H, W, 4) pixels -> the drawing to keep.
    """

    def __init__(
        self, *, films: Films, read: Callable[[str], bytes], prepare: Callable[[Pixels], Pixels]
    ) -> None:
        files = {
            name: [file for session in [*train, *test] for file in session]
            for name, (train, test) in films.items()
        }
        super().__init__(files=files, read=read, prepare=prepare)
        self._films = films
        self._lengths = [[len(session) for session in train] for train, _ in films.values()]

    def n_test(self, class_id: int) -> int:
        """The images of the sessions to be tested on, which are the last."""
        return self.n_drawings(class_id) - sum(self._lengths[class_id])

    def reordered(self, order: IntArray) -> "FilmGallery":
        """The same classes in another order: for each new number, the old one."""
        names = list(self._films)
        films = {names[old]: self._films[names[old]] for old in order.tolist()}
        return FilmGallery(films=films, read=self._read, prepare=self._prepare)

    def sessions(self, class_id: int) -> list[IntArray]:
        """The drawings of each session to learn from."""
        return [np.arange(a, b) for a, b in pairwise(accumulate(self._lengths[class_id], initial=0))]


class FilmedImages(ManyDrawings):
    """Every frame is an image, shown as it is; sessions stay whole, and none is set aside for settings.

    Args:
        collection: the frames.
        canvas: on what they are shown.
        seed: of the stream.
    """

    def __init__(self, *, collection: FilmGallery, canvas: Canvas, seed: int) -> None:
        upright = FactorSpace(scale=1, angle=1, x=1, y=1)
        super().__init__(
            collection=collection, canvas=canvas, split=(0.8, 0.0, 0.2), seed=seed, space=upright
        )
        self._films = collection

    def sessions(self, class_id: int) -> list[IntArray]:
        """The images of each session to learn from."""
        return self._films.sessions(class_id)

    def _split(self, class_id: int) -> dict[Split, IntArray]:
        n, n_test = self._films.n_drawings(class_id), self._films.n_test(class_id)
        nothing = np.zeros(0, np.int64)
        return {
            "train": np.arange(n - n_test),
            "val": nothing,
            "test": np.arange(n - n_test, n),
            "held_out": nothing,
        }


FOLDERS = ("core50_128x128", "core50", "core50_imgs")
TESTED = (3, 7, 10)
"""The sessions that the data set's own protocol tests on."""


def open_core50(data: Path | None, *, drawn_size: int, rgb: bool = True, frame_step: int = 1) -> FilmGallery:
    """The frames of CORe50, found by name and not yet opened.

    Args:
        data: the folder with s1, s2, ..., or one that holds it; what EVERLEARN_DATA names if not said.
        drawn_size: the size at which they will be shown, in pixels.
        rgb: keep colours, or only light and shade.
        frame_step: take only every so many-th frame.
    """
    root = _root(data)
    sessions = _numbered(root, "s")
    objects = {s: set(_numbered(root / name, "o")) for s, name in sessions.items()}
    _check(root, objects)
    films = {}
    for o in sorted(next(iter(objects.values()))):
        frames = {s: _frames(root, f"{name}/o{o}")[::frame_step] for s, name in sessions.items()}
        train = [files for s, files in frames.items() if s not in TESTED]
        films[f"object {o}"] = train, [files for s, files in frames.items() if s in TESTED]
    return FilmGallery(
        films=films, read=partial(read_below, root), prepare=prepare_image(drawn_size, rgb=rgb)
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
    frames = [f"{name}/{entry.name}" for entry in listed(root / name) if is_image(entry)]
    if not frames:
        raise BadInput(f"there is no image in {str(root / name)!r}; put the frames there")
    return frames


class Core50Settings(ObjectSettings):
    """CORe50 (Lomonaco and Maltoni, 2017): 50 objects, 8 sessions to learn from, 3 to be tested on.

    The images lie as the data set is given out: s1/o1/C_01_01_000.png for the first frame of object 1 in
    session 1, and so on; sessions 3, 7 and 10 are for the test. A smaller tree of the same layout is fine as
    long as every object is in every session that there is. The order of the objects follows from the seed.

    Example:
        >>> Core50Settings(data="core50_128x128", scenario="nic").to_mapping()["stream"]
        'core50'
    """

    kind = "core50"

    data: Path | None = None
    """the folder with s1 to s11, or one that holds core50_128x128; what EVERLEARN_DATA names if not said"""
    image_size: ImageSize = 128
    """height and width in pixels, 16 to 512"""
    rgb: bool = True
    """colour images instead of gray ones"""
    frame_step: Annotated[int, Field(ge=1, le=1000)] = 1
    """take only every so many-th frame of a session"""

    def build(self) -> Stream:
        """The stream with these settings."""
        from everlearn.streams.scenario_stream import ScenarioStream

        pass
        pass
        from everlearn.streams.images.source import Canvas

        canvas = Canvas(image_size=self.image_size, drawn_size=self.image_size, rgb=self.rgb)
        frames = open_core50(self.data, drawn_size=self.image_size, rgb=self.rgb, frame_step=self.frame_step)
        order = rng_at(self.seed, "class order").permutation(frames.n_classes)
        source = FilmedImages(collection=frames.reordered(order), canvas=canvas, seed=self.seed)
        return ScenarioStream(spec=self, scenario=self.arrange(source))


core50 = builder(Core50Settings)
