"""CORe50: videos of fifty objects in eleven sessions."""

import re
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, pairwise
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import FactorSpace
from everlearn.rng import IntArray
from everlearn.streams.images.dataset import FileDataset, read_file
from everlearn.streams.images.folder import prepare_image
from everlearn.streams.images.settings import Core50Settings
from everlearn.streams.images.source import Canvas, DatasetSource, Splits, class_order
from everlearn.streams.images.sources import SOURCES
from everlearn.streams.images.tree import image_files, listed

TEST_SESSIONS = (3, 7, 10)
"""The test sessions of the official protocol."""


@dataclass(kw_only=True, eq=False)
class SessionSource(DatasetSource):
    """Every frame is an image in canonical pose; sessions stay complete, and none is for validation."""

    lengths: list[list[int]]  # of the training sessions of each class, which are its first images

    def sessions(self, class_id: int) -> list[IntArray]:
        """Ids of the images of each training session."""
        return [np.arange(a, b) for a, b in pairwise(accumulate(self.lengths[class_id], initial=0))]

    def _splits(self, class_id: int) -> Splits:
        n_train = sum(self.lengths[class_id])
        train, test = np.arange(n_train), np.arange(n_train, self.dataset.n_images(class_id))
        return {"train": train, "val": train[:0], "test": test, "held_out": train[:0]}


def make_source(settings: Core50Settings) -> SessionSource:
    """The source for settings; files are indexed, not decoded."""
    root = SOURCES["core50"].locate(settings.data)
    folders = _numbered(root, "s")
    objects = _objects(root, folders)
    files, lengths = {}, []
    for o in (objects[i] for i in class_order(settings.seed, len(objects))):
        frames = {s: image_files(root, f"{name}/o{o}")[:: settings.frame_step] for s, name in folders.items()}
        if empty := [folders[s] for s, names in frames.items() if not names]:
            raise BadInput(f"there is no image in {str(root / empty[0] / f'o{o}')!r}; add the frames")
        train = [names for s, names in frames.items() if s not in TEST_SESSIONS]
        test = [names for s, names in frames.items() if s in TEST_SESSIONS]
        files[f"object {o}"] = [*chain(*train, *test)]
        lengths.append([len(names) for names in train])
    size, rgb = settings.image_size, settings.rgb
    prepare = partial(prepare_image, drawn_size=size, rgb=rgb)
    return SessionSource(
        dataset=FileDataset(files=files, read=partial(read_file, root), prepare=prepare),
        canvas=Canvas(image_size=size, drawn_size=size, rgb=rgb),
        split=(0.8, 0.0, 0.2),
        seed=settings.seed,
        space=FactorSpace(scale=1, angle=1, x=1, y=1),
        lengths=lengths,
    )


def _numbered(folder: Path, letter: str) -> dict[int, str]:
    """The sub-folders named by a letter and a number, sorted by number."""
    names = [entry.name for entry in listed(folder) if entry.is_dir()]
    numbers = {int(name[1:]): name for name in names if re.fullmatch(rf"{letter}[1-9]\d{{0,3}}", name)}
    return dict(sorted(numbers.items()))


def _objects(root: Path, folders: dict[int, str]) -> list[int]:
    """All objects; raises unless each is in every session, and there are training and test sessions."""
    objects = {s: set(_numbered(root / name, "o")) for s, name in folders.items()}
    all_objects = set.union(*objects.values())
    for s, found in objects.items():
        if missing := sorted(all_objects - found):
            raise BadInput(f"session s{s} in {str(root)!r} lacks object o{missing[0]}; add it")
    n_test = sum(s in TEST_SESSIONS for s in objects)
    if not 0 < n_test < len(objects) or not all_objects:
        found_sessions = ", ".join(f"s{s}" for s in objects)
        raise BadInput(
            f"{str(root)!r} has sessions {found_sessions}; it needs some of the test sessions s3, s7 and s10 "
            "and some others, with objects o1, o2, ... in them"
        )
    return sorted(all_objects)
