"""Makes a source of real images from its settings."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors, FactorSpace, Poses
from everlearn.rng import IntArray, rng_at
from everlearn.streams.images.compose import Drawings, show
from everlearn.streams.images.dataset import Collection
from everlearn.streams.images.settings import ImageSettings
from everlearn.streams.source import Shares
from everlearn.streams.stream import Images, Split

Cut = dict[Split, IntArray]


def cut_all(numbers: IntArray, shares: Shares) -> Cut:
    """Images in random order, cut in three: test first, as it judges; at least one is left to learn from.

    Of shares, test is rounded up and val down. A class too small for what was asked gives what it can.

    Example:
        >>> import numpy as np
        >>> {name: len(part) for name, part in cut_all(np.arange(20), (0.7, 0.1, 0.2)).items()}
        {'train': 14, 'val': 2, 'test': 4, 'held_out': 0}
        >>> {name: len(part) for name, part in cut_all(np.arange(3), (10, 5, 5)).items()}
        {'train': 1, 'val': 0, 'test': 2, 'held_out': 0}
    """
    n_test = min(_up(shares[2], len(numbers)), len(numbers) - 1)
    return cut(numbers[n_test:], numbers[:n_test], shares, n=len(numbers))


def cut(ours: IntArray, test: IntArray, shares: Shares, n: int | None = None) -> Cut:
    """Images in random order cut in two, beside test images that were set aside before.

    Args:
        ours: the images for train and val.
        test: the images for test; only a count shortens them.
        shares: counts for train, val and test, or shares.
        n: what val's share is of; what train and val together are of everything else if not said.
    """
    train_count, val_count, test_count = shares
    whole = isinstance(train_count, int)
    of = n or len(ours) / (train_count + val_count)
    n_val = min(int(val_count if whole else round(val_count * of, 6)), len(ours) - 1)
    n_train = min(int(train_count), len(ours) - n_val) if whole else len(ours) - n_val
    return {
        "train": ours[n_val : n_val + n_train],
        "val": ours[:n_val],
        "test": test[: int(test_count)] if whole else test,
        "held_out": ours[:0],
    }


def _up(share: float, n: int) -> int:
    # Rounded first: 0.2 x 15 must be 3 and not the next whole number above 3.0000000000000004.
    return share if isinstance(share, int) else ceil(round(share * n, 6))


N_FACTORS = len(FACTOR_NAMES) + 1  # and colour


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """On what, and how large, drawings are shown.

    Attributes:
        image_size: the side of an image in pixels.
        drawn_size: the longer side of a drawing in canonical form, in pixels.
        background: the gray level of the bare canvas, 0 to 255.
        rgb: three colours instead of gray.
        inverted: show the negative.
        trimmed: leave the empty margins of drawings away, so that what is drawn fills `drawn_size`.
    """

    image_size: int
    drawn_size: int
    background: int = 0
    rgb: bool = False
    inverted: bool = False
    trimmed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one image."""
        return (self.image_size, self.image_size, *((3,) if self.rgb else ()))

    def show(self, drawings: Drawings, which: IntArray, factors: Factors) -> Images:
        """One image per row, of the drawing with that number under these factors."""
        images = show(
            drawings.trimmed() if self.trimmed else drawings,
            which,
            factors,
            image_size=self.image_size,
            drawn_size=self.drawn_size,
            background=self.background,
            rgb=self.rgb,
        )
        return 255 - images if self.inverted else images


class ImageSource(ABC):
    """Classes of real drawings on a canvas, with the ground truth of how each is shown.

    The exemplar of a class is the drawing of its first training image, in canonical form.

    Args:
        collection: the drawings.
        canvas: on what they are shown.
        split: images per class for train, val and test, as counts or shares.
        seed: which images go to which split, and how each is shown.
    """

    def __init__(self, *, collection: Collection, canvas: Canvas, split: Shares, seed: int) -> None:
        self._collection, self._canvas, self._shares, self._seed = collection, canvas, split, seed

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self._collection.n_classes

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""
        return self._canvas.shape

    def class_name(self, class_id: int) -> str:
        """A word for people."""
        return self._collection.class_name(class_id)

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The numbers of the images of a class that belong to a split, in a fixed seeded order."""
        return self._split(class_id)[split]

    def draw(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        """The images themselves, row by row, with how each is shown."""
        factors = self._factors(class_ids, image_ids)
        return self._show(class_ids, self._drawing_numbers(image_ids), factors), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The first training image of each class, in canonical form."""
        first = np.array([self.pool(int(c), "train")[0] for c in class_ids], np.int64)
        return self._show(class_ids, self._drawing_numbers(first), Factors.canonical(len(class_ids)))

    def _show(self, class_ids: IntArray, numbers: IntArray, factors: Factors) -> Images:
        if not len(class_ids):
            return np.empty((0, *self.image_shape), np.uint8)
        pairs, which = np.unique(np.stack([class_ids, numbers], axis=1), axis=0, return_inverse=True)
        drawings = self._collection.drawings(pairs[:, 0], pairs[:, 1])
        return self._canvas.show(drawings, which.reshape(-1), factors)

    @abstractmethod
    def _split(self, class_id: int) -> dict[Split, IntArray]:
        """The images of a class in each split."""

    @abstractmethod
    def _drawing_numbers(self, image_ids: IntArray) -> IntArray:
        """Which of its class's drawings each image shows."""

    @abstractmethod
    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        """How each image is shown."""


class ManyDrawings(ImageSource):
    """Every drawing of a class is one image, shown once, in a pose drawn from a space.

    Args:
        collection: the drawings.
        canvas: on what they are shown.
        split: images per class for train, val and test, as counts or shares.
        seed: which images go to which split, and how each is shown.
        space: how a drawing may be shown.
    """

    def __init__(
        self, *, collection: Collection, canvas: Canvas, split: Shares, seed: int, space: FactorSpace
    ) -> None:
        super().__init__(collection=collection, canvas=canvas, split=split, seed=seed)
        self._space = space

    def _split(self, class_id: int) -> dict[Split, IntArray]:
        n, n_test = self._collection.n_drawings(class_id), self._collection.n_test(class_id)
        order = rng_at(self._seed, "picture split", class_id)
        ours, theirs = order.permutation(n - n_test), n - n_test + order.permutation(n_test)
        return cut(ours, theirs, self._shares) if n_test else cut_all(ours, self._shares)

    def _drawing_numbers(self, image_ids: IntArray) -> IntArray:
        return image_ids

    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        units = np.empty((len(class_ids), N_FACTORS))
        for c in np.unique(class_ids):
            mine = class_ids == c
            n = self._collection.n_drawings(int(c))
            units[mine] = self._units(int(c), n)[image_ids[mine]]
        return self._space.sample(units)

    def _units(self, class_id: int, n: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
        return rng_at(self._seed, "picture factors", class_id).uniform(n * N_FACTORS).reshape(n, N_FACTORS)


class OneDrawing(ImageSource):
    """The first drawing of each class, in many poses: images of one thing, moved about.

    Args:
        collection: the drawings; all but the first of a class are left alone.
        canvas: on what they are shown.
        split: images per class for train, val and test, as counts or shares.
        seed: which poses go to which split.
        poses: the poses there are, and which of them are held out.
        n_poses: how many of the others each class is shown in, chosen by the seed; all if not said.
    """

    def __init__(
        self,
        *,
        collection: Collection,
        canvas: Canvas,
        split: Shares,
        seed: int,
        poses: Poses,
        n_poses: int | None = None,
    ) -> None:
        super().__init__(collection=collection, canvas=canvas, split=split, seed=seed)
        self._poses, self._n_poses = poses, n_poses

    def _split(self, class_id: int) -> dict[Split, IntArray]:
        shown = self._poses.not_held_out
        order = rng_at(self._seed, "pose split", class_id).permutation(len(shown))[: self._n_poses]
        return {**cut_all(shown[order], self._shares), "held_out": self._poses.held_out}

    def _drawing_numbers(self, image_ids: IntArray) -> IntArray:
        return np.zeros_like(image_ids)

    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        return self._poses.factors(class_ids, image_ids)


def make_source(settings: ImageSettings) -> ImageSource:
    """The images that some settings describe; files are looked for, not yet decoded."""
    collection = settings.collection()
    if settings.shuffled_classes:
        order = rng_at(settings.seed, "class order").permutation(collection.n_classes)
        collection = Reordered(collection, order)
    canvas, split, seed = _canvas(settings), settings.split, settings.seed
    if settings.n_poses is not None:
        poses, n = settings.pose_list(), settings.n_poses
        return OneDrawing(
            collection=collection, canvas=canvas, split=split, seed=seed, poses=poses, n_poses=n
        )
    _check_testable(collection)
    space = settings.space()
    return ManyDrawings(collection=collection, canvas=canvas, split=split, seed=seed, space=space)


def _canvas(settings: ImageSettings) -> Canvas:
    return Canvas(
        image_size=settings.image_size,
        drawn_size=settings.drawn,
        background=settings.background,
        rgb=settings.in_colour,
        inverted="inverted" in settings.words,
        trimmed=settings.n_poses is not None if settings.trimmed is None else settings.trimmed,
    )


def _check_testable(collection: Collection) -> None:
    if all(collection.n_drawings(c) < 2 for c in range(collection.n_classes)):
        raise BadInput(
            "no class has more than one image, so none is left to be tested on; "
            "set n_poses=100 to show each image in 100 poses"
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
