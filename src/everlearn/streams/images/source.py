"""Sources of real images on a canvas, with splits and poses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors, FactorSpace, Poses
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.images.compose import RawImages, compose
from everlearn.streams.images.dataset import Dataset
from everlearn.streams.images.settings import ImageSettings
from everlearn.streams.source import Source, SplitSizes
from everlearn.streams.stream import Images, Split

N_FACTORS = len(FACTOR_NAMES) + 1  # and colour

Splits = dict[Split, IntArray]
"""Ids of the images of a class in each split."""


def make_source(settings: ImageSettings) -> "ImageSource":
    """The source for settings; files are indexed, not decoded."""
    dataset = settings.dataset()
    if settings.shuffled_classes:
        dataset = ReorderedDataset(dataset, class_order(settings.seed, dataset.n_classes))
    canvas, split, seed = _canvas(settings), settings.split, settings.seed
    if settings.n_poses is not None:
        poses, n = settings.poses(), settings.n_poses
        return PosedSource(dataset=dataset, canvas=canvas, split=split, seed=seed, poses=poses, n_poses=n)
    if all(dataset.n_images(c) < 2 for c in range(dataset.n_classes)):
        raise BadInput(
            "no class has more than one image, so there is none for testing; "
            "set n_poses=100 to show each image in 100 poses"
        )
    return DatasetSource(dataset=dataset, canvas=canvas, split=split, seed=seed, space=settings.space())


def class_order(seed: int, n_classes: int) -> IntArray:
    """A random order of classes: the old id of each new one."""
    return rng_at(seed, "class order").permutation(n_classes)


def _canvas(settings: ImageSettings) -> "Canvas":
    return Canvas(
        image_size=settings.image_size,
        drawn_size=settings.resolved_drawn_size,
        background=settings.background,
        rgb=settings.in_colour,
        inverted="inverted" in settings.variants,
        trimmed=settings.n_poses is not None if settings.trimmed is None else settings.trimmed,
    )


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """How raw images are drawn.

    Attributes:
        image_size: height and width in pixels.
        drawn_size: longer side of a raw image in canonical pose, in pixels.
        background: gray level, 0 to 255.
        rgb: colour instead of gray.
        inverted: invert the result.
        trimmed: remove empty margins of raw images first.
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

    def draw(self, raw: RawImages, which: IntArray, factors: Factors) -> Images:
        """One image per row, of a raw image under factors."""
        images = compose(
            raw.trimmed() if self.trimmed else raw,
            which,
            factors,
            image_size=self.image_size,
            drawn_size=self.drawn_size,
            background=self.background,
            rgb=self.rgb,
        )
        return 255 - images if self.inverted else images


class ImageSource(Source, ABC):
    """Classes of real images on a canvas, with their factors.

    The exemplar of a class is its first training image in canonical pose.

    Args:
        dataset: the images.
        canvas: how they are drawn.
        split: images per class for train, val and test, as counts or fractions.
        seed: of the splits and the factors.
    """

    n_classes: int = 0
    image_shape: tuple[int, ...] = ()

    def __init__(self, *, dataset: Dataset, canvas: Canvas, split: SplitSizes, seed: int) -> None:
        self._dataset, self._canvas, self._split_sizes, self._seed = dataset, canvas, split, seed
        self.n_classes, self.image_shape = dataset.n_classes, canvas.shape

    def class_name(self, class_id: int) -> str:
        return self._dataset.class_name(class_id)

    def pool(self, class_id: int, split: Split) -> IntArray:
        return self._splits(class_id)[split]

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        factors = self._factors(class_ids, image_ids)
        return self._draw(class_ids, self._raw_indices(image_ids), factors), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The first training image of each class in canonical pose."""
        first = np.array([self.pool(int(c), "train")[0] for c in class_ids], np.int64)
        return self._draw(class_ids, self._raw_indices(first), Factors.canonical(len(class_ids)))

    def _draw(self, class_ids: IntArray, indices: IntArray, factors: Factors) -> Images:
        if not len(class_ids):
            return np.empty((0, *self.image_shape), np.uint8)
        pairs, which = np.unique(np.stack([class_ids, indices], axis=1), axis=0, return_inverse=True)
        raw = self._dataset.load(pairs[:, 0], pairs[:, 1])
        return self._canvas.draw(raw, which.reshape(-1), factors)

    @abstractmethod
    def _splits(self, class_id: int) -> Splits:
        """Ids of the images of a class in each split."""

    @abstractmethod
    def _raw_indices(self, image_ids: IntArray) -> IntArray:
        """The raw image of each image, as an index within its class."""

    @abstractmethod
    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        """The factors of each image."""


class DatasetSource(ImageSource):
    """Every image of a dataset once, in a pose sampled from a space (an additional argument)."""

    def __init__(
        self, *, dataset: Dataset, canvas: Canvas, split: SplitSizes, seed: int, space: FactorSpace
    ) -> None:
        super().__init__(dataset=dataset, canvas=canvas, split=split, seed=seed)
        self._space = space

    def _splits(self, class_id: int) -> Splits:
        n, n_test = self._dataset.n_images(class_id), self._dataset.n_test(class_id)
        rng = rng_at(self._seed, "picture split", class_id)  # check-words: allow
        train_val, test = rng.permutation(n - n_test), n - n_test + rng.permutation(n_test)
        sizes = self._split_sizes
        return split_train_val(train_val, test, sizes) if n_test else split_all(train_val, sizes)

    def _raw_indices(self, image_ids: IntArray) -> IntArray:
        return image_ids

    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        units = np.empty((len(class_ids), N_FACTORS))
        for c in np.unique(class_ids):
            rows = class_ids == c
            units[rows] = self._units(int(c))[image_ids[rows]]
        return self._space.sample(units)

    def _units(self, class_id: int) -> FloatArray:
        n = self._dataset.n_images(class_id)
        rng = rng_at(self._seed, "picture factors", class_id)  # check-words: allow
        return rng.uniform(n * N_FACTORS).reshape(n, N_FACTORS)


class PosedSource(ImageSource):
    """The first image of each class in many poses.

    Args:
        dataset: the images; only the first of each class is used.
        canvas: how they are drawn.
        split: images per class for train, val and test, as counts or fractions.
        seed: of the splits.
        poses: the poses, some of them held out.
        n_poses: number of poses per class, selected at random; default: all that are not held out.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        canvas: Canvas,
        split: SplitSizes,
        seed: int,
        poses: Poses,
        n_poses: int | None = None,
    ) -> None:
        super().__init__(dataset=dataset, canvas=canvas, split=split, seed=seed)
        self._poses, self._n_poses = poses, n_poses

    def _splits(self, class_id: int) -> Splits:
        poses = self._poses.not_held_out
        order = rng_at(self._seed, "pose split", class_id).permutation(len(poses))[: self._n_poses]
        return {**split_all(poses[order], self._split_sizes), "held_out": self._poses.held_out}

    def _raw_indices(self, image_ids: IntArray) -> IntArray:
        return np.zeros_like(image_ids)

    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        return self._poses.factors(class_ids, image_ids)


class ReorderedDataset(Dataset):
    """A dataset with its classes in another order.

    Args:
        dataset: the classes.
        order: the old id of each new one.
    """

    n_classes: int = 0

    def __init__(self, dataset: Dataset, order: IntArray) -> None:
        self._dataset, self._order = dataset, order
        self.n_classes = len(order)

    def class_name(self, class_id: int) -> str:
        return self._dataset.class_name(int(self._order[class_id]))

    def n_images(self, class_id: int) -> int:
        return self._dataset.n_images(int(self._order[class_id]))

    def n_test(self, class_id: int) -> int:
        return self._dataset.n_test(int(self._order[class_id]))

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        return self._dataset.load(np.asarray(self._order[class_ids]), indices)


def split_all(ids: IntArray, sizes: SplitSizes) -> Splits:
    """Split images in random order: test first; at least one image remains for training.

    With fractions, test is rounded up and val down. A class that is too small gives what it has.

    Example:
        >>> import numpy as np
        >>> {name: len(part) for name, part in split_all(np.arange(20), (0.7, 0.1, 0.2)).items()}
        {'train': 14, 'val': 2, 'test': 4, 'held_out': 0}
        >>> {name: len(part) for name, part in split_all(np.arange(3), (10, 5, 5)).items()}
        {'train': 1, 'val': 0, 'test': 2, 'held_out': 0}
    """
    # Rounded before ceil: 0.2 x 15 must be 3, although it is 3.0000000000000004 in floating point.
    size = sizes[2]
    n_test = min(size if isinstance(size, int) else ceil(round(size * len(ids), 6)), len(ids) - 1)
    return split_train_val(ids[n_test:], ids[:n_test], sizes, n=len(ids))


def split_train_val(train_val: IntArray, test: IntArray, sizes: SplitSizes, n: int | None = None) -> Splits:
    """Split images in random order into train and val, with given test images.

    Args:
        train_val: ids for train and val.
        test: ids of the test images; only a count reduces them.
        sizes: counts or fractions for train, val and test.
        n: number of images to which the fraction of val refers; default: the number for which train and val
            together have their fractions.
    """
    train_size, val_size, test_size = sizes
    are_counts = isinstance(train_size, int)
    total = n or len(train_val) / (train_size + val_size)
    n_val = min(int(val_size if are_counts else round(val_size * total, 6)), len(train_val) - 1)
    n_train = min(int(train_size), len(train_val) - n_val) if are_counts else len(train_val) - n_val
    return {
        "train": train_val[n_val : n_val + n_train],
        "val": train_val[:n_val],
        "test": test[: int(test_size)] if are_counts else test,
        "held_out": train_val[:0],
    }
