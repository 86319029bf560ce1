"""Sources of real images on a canvas, with splits and poses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import Factors, FactorSpace, Poses
from everlearn.factors.factors import ALL_FACTORS
from everlearn.rng import IntArray, rng_at
from everlearn.streams.images.compose import RawImages, compose
from everlearn.streams.images.dataset import Dataset
from everlearn.streams.images.settings import ImageSettings
from everlearn.streams.source import Source, SplitSizes
from everlearn.streams.stream import Images, Split

N_FACTORS = len(ALL_FACTORS)

Splits = dict[Split, IntArray]
"""Ids of the images of a class in each split."""


def make_source(settings: ImageSettings) -> "ImageSource":
    """The source for settings; files are indexed, not decoded."""
    dataset = settings.dataset()
    if settings.shuffled_classes:
        dataset = ReorderedDataset(dataset, class_order(settings.seed, dataset.n_classes))
    canvas = Canvas(
        image_size=settings.image_size,
        drawn_size=settings.resolved_drawn_size,
        background=settings.background,
        rgb=settings.in_colour,
        inverted="inverted" in settings.variants,
        trimmed=settings.n_poses is not None if settings.trimmed is None else settings.trimmed,
    )
    split, seed = settings.split, settings.seed
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


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """How raw images are drawn: the arguments of `compose`, and whether to trim margins and invert pixels."""

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
        """One image per row of `factors`: the raw image `which[i]` under these factors."""
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


@dataclass(kw_only=True, eq=False)
class ImageSource(Source, ABC):
    """Classes of real images on a canvas, with their factors.

    The exemplar of a class is its first training image in canonical pose.
    """

    dataset: Dataset
    canvas: Canvas
    split: SplitSizes
    seed: int

    @property
    def n_classes(self) -> int:
        return self.dataset.n_classes

    @property
    def image_shape(self) -> tuple[int, ...]:
        return self.canvas.shape

    def class_name(self, class_id: int) -> str:
        return self.dataset.class_name(class_id)

    def pool(self, class_id: int, split: Split) -> IntArray:
        return self._splits(class_id)[split]

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        factors = self._factors(class_ids, image_ids)
        return self._draw(class_ids, self._raw_indices(image_ids), factors), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        first = np.array([self.pool(int(c), "train")[0] for c in class_ids], np.int64)
        return self._draw(class_ids, self._raw_indices(first), Factors.canonical(len(class_ids)))

    def _draw(self, class_ids: IntArray, indices: IntArray, factors: Factors) -> Images:
        if not len(class_ids):
            return np.empty((0, *self.image_shape), np.uint8)
        pairs, which = np.unique(np.stack([class_ids, indices], axis=1), axis=0, return_inverse=True)
        raw = self.dataset.load(pairs[:, 0], pairs[:, 1])
        return self.canvas.draw(raw, which.reshape(-1), factors)

    @abstractmethod
    def _splits(self, class_id: int) -> Splits:
        """Ids of the images of a class in each split."""

    def _raw_indices(self, image_ids: IntArray) -> IntArray:
        """The raw image of each image, as an index within its class."""
        return image_ids

    @abstractmethod
    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        """The factors of each image."""


@dataclass(kw_only=True, eq=False)
class DatasetSource(ImageSource):
    """Every image of a dataset once, in a pose sampled from a space."""

    space: FactorSpace

    def _splits(self, class_id: int) -> Splits:
        n, n_test = self.dataset.n_images(class_id), self.dataset.n_test(class_id)
        rng = rng_at(self.seed, "picture split", class_id)  # check-words: allow
        train_val, test = rng.permutation(n - n_test), n - n_test + rng.permutation(n_test)
        if n_val := self.dataset.n_val(class_id):
            is_val = train_val >= n - n_test - n_val
            return limit_splits(train_val[~is_val], train_val[is_val], test, self.split)
        return split_train_val(train_val, test, self.split) if n_test else split_all(train_val, self.split)

    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        units = np.empty((len(class_ids), N_FACTORS))
        for c in np.unique(class_ids).tolist():
            rng = rng_at(self.seed, "picture factors", c)  # check-words: allow
            of_class = rng.uniform(self.dataset.n_images(c) * N_FACTORS).reshape(-1, N_FACTORS)
            units[class_ids == c] = of_class[image_ids[class_ids == c]]
        return self.space.sample(units)


@dataclass(kw_only=True, eq=False)
class PosedSource(ImageSource):
    """The first image of each class in `n_poses` random poses; default: all that are not held out."""

    poses: Poses
    n_poses: int | None = None

    def _splits(self, class_id: int) -> Splits:
        poses = self.poses.not_held_out
        order = rng_at(self.seed, "pose split", class_id).permutation(len(poses))[: self.n_poses]
        return {**split_all(poses[order], self.split), "held_out": self.poses.held_out}

    def _raw_indices(self, image_ids: IntArray) -> IntArray:
        return np.zeros_like(image_ids)

    def _factors(self, class_ids: IntArray, image_ids: IntArray) -> Factors:
        return self.poses.factors(class_ids, image_ids)


class ReorderedDataset(Dataset):
    """A dataset with its classes in another order: the old id of each new one."""

    n_classes: int = 0

    def __init__(self, dataset: Dataset, order: IntArray) -> None:
        self._dataset, self._order, self.n_classes = dataset, order, len(order)

    def class_name(self, class_id: int) -> str:
        return self._dataset.class_name(int(self._order[class_id]))

    def n_images(self, class_id: int) -> int:
        return self._dataset.n_images(int(self._order[class_id]))

    def n_test(self, class_id: int) -> int:
        return self._dataset.n_test(int(self._order[class_id]))

    def n_val(self, class_id: int) -> int:
        return self._dataset.n_val(int(self._order[class_id]))

    def load(self, class_ids: IntArray, indices: IntArray) -> RawImages:
        return self._dataset.load(np.asarray(self._order[class_ids]), indices)


def split_all(ids: IntArray, sizes: SplitSizes) -> Splits:
    """Split images in random order: test first; at least one image remains for training.

    With fractions, test is rounded up and val down. The splits of a class with too few images are smaller.
    """
    # Rounded before ceil: 0.2 x 15 must be 3, although it is 3.0000000000000004 in floating point.
    size = sizes[2]
    n_test = min(size if isinstance(size, int) else ceil(round(size * len(ids), 6)), len(ids) - 1)
    return split_train_val(ids[n_test:], ids[:n_test], sizes, n=len(ids))


def limit_splits(train: IntArray, val: IntArray, test: IntArray, sizes: SplitSizes) -> Splits:
    """The splits of a dataset that has all three; only counts reduce them."""
    limits = [int(size) if isinstance(size, int) else None for size in sizes]
    return {
        "train": train[: limits[0]],
        "val": val[: limits[1]],
        "test": test[: limits[2]],
        "held_out": train[:0],
    }


def split_train_val(train_val: IntArray, test: IntArray, sizes: SplitSizes, n: int | None = None) -> Splits:
    """Split images in random order into train and val, with given test images, which only a count reduces.

    The fraction of val refers to n images; default: the number of which train and val have their fractions.
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
