"""Real pictures as a source of classes: every drawing once, or one drawing per class in many poses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from everlearn.chance import IntArray, draws
from everlearn.factors import FACTOR_NAMES, Factors, FactorSpace, Poses
from everlearn.streams.batch import Images
from everlearn.streams.pictures.collection import Collection
from everlearn.streams.pictures.cutting import cut, cut_all
from everlearn.streams.pictures.drawings import Drawings, show
from everlearn.streams.splits import Shares
from everlearn.streams.task import Split

N_FACTORS = len(FACTOR_NAMES) + 1  # and colour


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """On what, and how large, drawings are shown.

    Attributes:
        image_size: the side of a picture in pixels.
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
        """The shape of one picture."""
        return (self.image_size, self.image_size, *((3,) if self.rgb else ()))

    def show(self, drawings: Drawings, which: IntArray, factors: Factors) -> Images:
        """One picture per row, of the drawing with that number under these factors."""
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


class PictureSource(ABC):
    """Classes of real drawings on a canvas, with the ground truth of how each is shown.

    The exemplar of a class is the drawing of its first training picture, in canonical form.

    Args:
        collection: the drawings.
        canvas: on what they are shown.
        split: pictures per class for train, val and test, as counts or shares.
        seed: which pictures go to which split, and how each is shown.
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
        """The numbers of the pictures of a class that belong to a split, in a fixed seeded order."""
        return self._split(class_id)[split]

    def draw(self, class_ids: IntArray, picture_ids: IntArray) -> tuple[Images, Factors]:
        """The pictures themselves, row by row, with how each is shown."""
        factors = self._factors(class_ids, picture_ids)
        return self._show(class_ids, self._drawing_numbers(picture_ids), factors), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The first training picture of each class, in canonical form."""
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
        """The pictures of a class in each split."""

    @abstractmethod
    def _drawing_numbers(self, picture_ids: IntArray) -> IntArray:
        """Which of its class's drawings each picture shows."""

    @abstractmethod
    def _factors(self, class_ids: IntArray, picture_ids: IntArray) -> Factors:
        """How each picture is shown."""


class ManyDrawings(PictureSource):
    """Every drawing of a class is one picture, shown once, in a pose drawn from a space.

    Args:
        collection: the drawings.
        canvas: on what they are shown.
        split: pictures per class for train, val and test, as counts or shares.
        seed: which pictures go to which split, and how each is shown.
        space: how a drawing may be shown.
    """

    def __init__(
        self, *, collection: Collection, canvas: Canvas, split: Shares, seed: int, space: FactorSpace
    ) -> None:
        super().__init__(collection=collection, canvas=canvas, split=split, seed=seed)
        self._space = space

    def _split(self, class_id: int) -> dict[Split, IntArray]:
        n, n_test = self._collection.n_drawings(class_id), self._collection.n_test(class_id)
        order = draws(self._seed, "picture split", class_id)
        ours, theirs = order.permutation(n - n_test), n - n_test + order.permutation(n_test)
        return cut(ours, theirs, self._shares) if n_test else cut_all(ours, self._shares)

    def _drawing_numbers(self, picture_ids: IntArray) -> IntArray:
        return picture_ids

    def _factors(self, class_ids: IntArray, picture_ids: IntArray) -> Factors:
        units = np.empty((len(class_ids), N_FACTORS))
        for c in np.unique(class_ids):
            mine = class_ids == c
            n = self._collection.n_drawings(int(c))
            units[mine] = self._units(int(c), n)[picture_ids[mine]]
        return self._space.sample(units)

    def _units(self, class_id: int, n: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
        return draws(self._seed, "picture factors", class_id).uniform(n * N_FACTORS).reshape(n, N_FACTORS)


class OneDrawing(PictureSource):
    """The first drawing of each class, in many poses: pictures of one thing, moved about.

    Args:
        collection: the drawings; all but the first of a class are left alone.
        canvas: on what they are shown.
        split: pictures per class for train, val and test, as counts or shares.
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
        shown = self._poses.shown
        order = draws(self._seed, "pose split", class_id).permutation(len(shown))[: self._n_poses]
        return {**cut_all(shown[order], self._shares), "held_out": self._poses.held_out}

    def _drawing_numbers(self, picture_ids: IntArray) -> IntArray:
        return np.zeros_like(picture_ids)

    def _factors(self, class_ids: IntArray, picture_ids: IntArray) -> Factors:
        return self._poses.factors(class_ids, picture_ids)
