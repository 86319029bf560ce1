"""CORe50: videos of fifty objects in eleven sessions."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import FactorSpace
from everlearn.rng import IntArray
from everlearn.streams.images.dataset import FileDataset, Pixels
from everlearn.streams.images.folder import (
    data_root,
    first_folder,
    is_image,
    listed,
    prepare_image,
    read_below,
)
from everlearn.streams.images.settings import Core50Settings
from everlearn.streams.images.source import Canvas, DatasetSource, Splits, class_order

FOLDERS = ("core50_128x128", "core50", "core50_imgs")
TEST_SESSIONS = (3, 7, 10)
"""The test sessions of the official protocol."""

SessionFiles = Mapping[str, tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]]
"""The files of each class: of its training sessions, and of its test sessions."""


def make_source(settings: Core50Settings) -> "SessionSource":
    """The source for settings; files are indexed, not decoded."""
    size, rgb = settings.image_size, settings.rgb
    dataset = open_core50(settings.data, drawn_size=size, rgb=rgb, frame_step=settings.frame_step)
    dataset = dataset.reordered(class_order(settings.seed, dataset.n_classes))
    canvas = Canvas(image_size=size, drawn_size=size, rgb=rgb)
    return SessionSource(dataset=dataset, canvas=canvas, seed=settings.seed)


class SessionDataset(FileDataset):
    """A dataset of image files recorded in sessions.

    Args:
        sessions: the files of each class by session.
        read: name of a file -> its bytes.
        prepare: decoded pixels (H, W, 4) -> the image to keep.
    """

    def __init__(
        self, *, sessions: SessionFiles, read: Callable[[str], bytes], prepare: Callable[[Pixels], Pixels]
    ) -> None:
        files = {
            name: [file for session in [*train, *test] for file in session]
            for name, (train, test) in sessions.items()
        }
        super().__init__(files=files, read=read, prepare=prepare)
        self._sessions = sessions
        self._lengths = [[len(session) for session in train] for train, _ in sessions.values()]

    def n_test(self, class_id: int) -> int:
        return self.n_images(class_id) - sum(self._lengths[class_id])

    def reordered(self, order: IntArray) -> "SessionDataset":
        """The dataset with its classes in another order: the old id of each new one."""
        names = list(self._sessions)
        sessions = {names[old]: self._sessions[names[old]] for old in order.tolist()}
        return SessionDataset(sessions=sessions, read=self._read, prepare=self._prepare)

    def train_sessions(self, class_id: int) -> list[IntArray]:
        """The indices of the images of each training session."""
        return [np.arange(a, b) for a, b in pairwise(accumulate(self._lengths[class_id], initial=0))]


class SessionSource(DatasetSource):
    """Every frame is an image in canonical pose; sessions stay complete, and none is for validation."""

    def __init__(self, *, dataset: SessionDataset, canvas: Canvas, seed: int) -> None:
        canonical = FactorSpace(scale=1, angle=1, x=1, y=1)
        super().__init__(dataset=dataset, canvas=canvas, split=(0.8, 0.0, 0.2), seed=seed, space=canonical)
        self._session_dataset = dataset

    def sessions(self, class_id: int) -> list[IntArray]:
        """Ids of the images of each training session."""
        return self._session_dataset.train_sessions(class_id)

    def _splits(self, class_id: int) -> Splits:
        n, n_test = self._dataset.n_images(class_id), self._dataset.n_test(class_id)
        train, test = np.arange(n - n_test), np.arange(n - n_test, n)
        return {"train": train, "val": train[:0], "test": test, "held_out": train[:0]}


def open_core50(
    data: Path | None, *, drawn_size: int, rgb: bool = True, frame_step: int = 1
) -> SessionDataset:
    """The frames of CORe50, indexed by name and decoded on first use.

    Args:
        data: the folder with s1, s2, ..., or its parent; default: EVERLEARN_DATA.
        drawn_size: size on the canvas in pixels.
        rgb: keep colours, or convert to gray.
        frame_step: use every n-th frame.
    """
    root = _root(data)
    folders = _numbered(root, "s")
    objects = {s: set(_numbered(root / name, "o")) for s, name in folders.items()}
    _check_complete(root, objects)
    sessions = {}
    for o in sorted(next(iter(objects.values()))):
        frames = {s: _frames(root, f"{name}/o{o}")[::frame_step] for s, name in folders.items()}
        train = [files for s, files in frames.items() if s not in TEST_SESSIONS]
        sessions[f"object {o}"] = train, [files for s, files in frames.items() if s in TEST_SESSIONS]
    return SessionDataset(
        sessions=sessions, read=partial(read_below, root), prepare=prepare_image(drawn_size, rgb=rgb)
    )


def _root(data: Path | None) -> Path:
    wanted = "CORe50 (s1/o1/C_01_01_000.png etc.)"
    base = data_root(data, wanted)
    found = first_folder(base, FOLDERS, ("s1",))
    if found is None:
        raise BadInput(f"{str(base)!r} contains no folder s1; give the one that contains {wanted}")
    return found


def _numbered(folder: Path, letter: str) -> dict[int, str]:
    """The sub-folders named by a letter and a number, sorted by number."""
    names = [entry.name for entry in listed(folder) if entry.is_dir()]
    numbers = {int(name[1:]): name for name in names if re.fullmatch(rf"{letter}[1-9]\d{{0,3}}", name)}
    return dict(sorted(numbers.items()))


def _check_complete(root: Path, objects: dict[int, set[int]]) -> None:
    """Raise unless every object is in every session, and there are training and test sessions."""
    all_objects = set.union(*objects.values())
    for s, found in objects.items():
        if missing := sorted(all_objects - found):
            raise BadInput(f"session s{s} in {str(root)!r} lacks object o{missing[0]}; add it")
    test = [s for s in objects if s in TEST_SESSIONS]
    if not test or len(test) == len(objects) or not all_objects:
        found_sessions = ", ".join(f"s{s}" for s in objects)
        raise BadInput(
            f"{str(root)!r} has sessions {found_sessions}; it needs some of the test sessions s3, s7 and s10 "
            "and some others, with objects o1, o2, ... in them"
        )


def _frames(root: Path, name: str) -> list[str]:
    frames = [f"{name}/{entry.name}" for entry in listed(root / name) if is_image(entry)]
    if not frames:
        raise BadInput(f"there is no image in {str(root / name)!r}; add the frames")
    return frames
