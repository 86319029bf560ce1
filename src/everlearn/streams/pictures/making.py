"""Makes a source of real pictures from its settings."""

import numpy as np

from everlearn.chance import IntArray, draws
from everlearn.errors import BadInput
from everlearn.streams.pictures.collection import Collection
from everlearn.streams.pictures.drawings import Drawings
from everlearn.streams.pictures.settings import PictureSettings
from everlearn.streams.pictures.source import Canvas, ManyDrawings, OneDrawing, PictureSource


def make_source(settings: PictureSettings) -> PictureSource:
    """The pictures that some settings describe; files are looked for, not yet decoded."""
    collection = settings.collection()
    if settings.shuffled_classes:
        order = draws(settings.seed, "class order").permutation(collection.n_classes)
        collection = Reordered(collection, order)
    canvas, split, seed = _canvas(settings), settings.split, settings.seed
    if settings.poses is not None:
        poses, n = settings.pose_list(), settings.poses
        return OneDrawing(
            collection=collection, canvas=canvas, split=split, seed=seed, poses=poses, n_poses=n
        )
    _check_testable(collection)
    space = settings.space()
    return ManyDrawings(collection=collection, canvas=canvas, split=split, seed=seed, space=space)


def _canvas(settings: PictureSettings) -> Canvas:
    return Canvas(
        image_size=settings.image_size,
        drawn_size=settings.drawn,
        background=settings.background,
        rgb=settings.in_colour,
        inverted="inverted" in settings.words,
        trimmed=settings.poses is not None if settings.trimmed is None else settings.trimmed,
    )


def _check_testable(collection: Collection) -> None:
    if all(collection.n_drawings(c) < 2 for c in range(collection.n_classes)):
        raise BadInput(
            "no class has more than one picture, so none is left to be tested on; "
            "say poses=100 to show each picture in so many poses"
        )


class Reordered:
    """A collection whose classes come in another order.

    Args:
        collection: the classes.
        order: for each new class number, the old one.
    """

    def __init__(self, collection: Collection, order: IntArray) -> None:
        self._collection, self._order = collection, order

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._order)

    def class_name(self, class_id: int) -> str:
        """A word for people."""
        return self._collection.class_name(int(self._order[class_id]))

    def n_drawings(self, class_id: int) -> int:
        """How many drawings a class has."""
        return self._collection.n_drawings(int(self._order[class_id]))

    def n_test(self, class_id: int) -> int:
        """How many of them the data set itself sets aside as test."""
        return self._collection.n_test(int(self._order[class_id]))

    def drawings(self, class_ids: IntArray, numbers: IntArray) -> Drawings:
        """One drawing per row."""
        return self._collection.drawings(np.asarray(self._order[class_ids]), numbers)
