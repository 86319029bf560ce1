"""Domains: the same classes under another order of pixels or another rotation in each domain.

Class c is class c % n of the dataset in domain c // n.
"""

from dataclasses import dataclass, fields
from math import radians
from typing import TYPE_CHECKING

import numpy as np

from everlearn.factors import Factors
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.images.source import DatasetSource, ImageSource, Splits, make_source
from everlearn.streams.source import Source
from everlearn.streams.stream import Images, Split

if TYPE_CHECKING:
    from everlearn.streams.images.benchmark_settings import RotatedMnistSettings


class PermutedSource(Source):
    """The images of a source, their pixels in another random order in each of infinitely many domains.

    The pixels of the first domain are permuted only with `permute_first`. Factors are those of the image
    before the permutation.
    """

    n_classes: int | None = None
    image_shape: tuple[int, ...] = ()

    def __init__(self, source: ImageSource, *, seed: int, permute_first: bool) -> None:
        self._source, self._seed, self._n_fixed = source, seed, 0 if permute_first else 1
        self._n, self.image_shape = source.n_classes, source.image_shape

    def class_name(self, class_id: int) -> str:
        return f"{self._source.class_name(class_id % self._n)} (permutation {class_id // self._n})"

    def pool(self, class_id: int, split: Split) -> IntArray:
        return self._source.pool(class_id % self._n, split)

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        images, factors = self._source.load(class_ids % self._n, image_ids)
        return self._permute(images, class_ids // self._n), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        return self._permute(self._source.exemplars(class_ids % self._n), class_ids // self._n)

    def _permute(self, images: Images, domains: IntArray) -> Images:
        height, width, *channels = self.image_shape
        pixels = images.reshape(len(images), height * width, *channels)
        permuted = pixels.copy()
        for domain in np.unique(domains[domains >= self._n_fixed]).tolist():
            order = rng_at(self._seed, "pixel permutation", domain).permutation(pixels.shape[1])
            permuted[domains == domain] = pixels[domains == domain][:, order]
        return permuted.reshape(images.shape)


@dataclass(kw_only=True, eq=False)
class RotatedSource(DatasetSource):
    """The images of a dataset, in each domain rotated by its own angle; exemplars are upright."""

    angles: FloatArray  # of each domain, in radians

    @property
    def n_classes(self) -> int:
        return self.dataset.n_classes * len(self.angles)

    def class_name(self, class_id: int) -> str:
        domain, own_id = divmod(class_id, self.dataset.n_classes)
        return f"{self.dataset.class_name(own_id)} (rotation {domain})"

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        domains, own_ids = np.divmod(class_ids, self.dataset.n_classes)
        factors = self._factors(own_ids, image_ids)
        parts = {field.name: getattr(factors, field.name) for field in fields(factors)}
        rotated = Factors(**{**parts, "angle": factors.angle + self.angles[domains]})
        return self._draw(own_ids, image_ids, rotated), rotated

    def exemplars(self, class_ids: IntArray) -> Images:
        return super().exemplars(class_ids % self.dataset.n_classes)

    def _splits(self, class_id: int) -> Splits:
        return super()._splits(class_id % self.dataset.n_classes)


def rotated_source(settings: "RotatedMnistSettings") -> RotatedSource:
    """The source of settings with angles in degrees."""
    plain = make_source(settings)
    return RotatedSource(
        dataset=plain.dataset,
        canvas=plain.canvas,
        split=plain.split,
        seed=plain.seed,
        space=settings.space(),
        angles=np.array([radians(angle) for angle in settings.angles]),
    )
