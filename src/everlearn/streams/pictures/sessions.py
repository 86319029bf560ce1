"""Real pictures that were taken in sessions, which are learned from and tested on as wholes."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from everlearn.chance import IntArray
from everlearn.factors import FactorSpace
from everlearn.streams.pictures.collection import Pixels
from everlearn.streams.pictures.gallery import Gallery
from everlearn.streams.pictures.source import Canvas, ManyDrawings
from everlearn.streams.task import Split

Films = Mapping[str, tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]]
"""The files of each class: of its sessions to learn from, and of those to be tested on."""


class FilmGallery(Gallery):
    """Classes of picture files in sessions.

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
        """The pictures of the sessions to be tested on, which are the last."""
        return self.n_drawings(class_id) - sum(self._lengths[class_id])

    def reordered(self, order: IntArray) -> "FilmGallery":
        """The same classes in another order: for each new number, the old one."""
        names = list(self._films)
        films = {names[old]: self._films[names[old]] for old in order.tolist()}
        return FilmGallery(films=films, read=self._read, prepare=self._prepare)

    def sessions(self, class_id: int) -> list[IntArray]:
        """The drawings of each session to learn from."""
        return [np.arange(a, b) for a, b in pairwise(accumulate(self._lengths[class_id], initial=0))]


class FilmedPictures(ManyDrawings):
    """Every frame is a picture, shown as it is; sessions stay whole, and none is set aside for settings.

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
        """The pictures of each session to learn from."""
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
