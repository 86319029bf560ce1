"""Where the pictures of drawn shapes come from."""

from typing import TYPE_CHECKING

import numpy as np

from everlearn.chance import IntArray, draws
from everlearn.factors import Factors
from everlearn.rendering import Nuisances, render
from everlearn.shapes import ShapeFamily
from everlearn.streams.batch import Images
from everlearn.streams.splits import split_sizes
from everlearn.streams.task import Split

if TYPE_CHECKING:
    from everlearn.streams.sprites import SpriteSettings


class SpriteSource:
    """Class i is shape i of a family; picture p of it is its pose number p."""

    n_classes = None

    def __init__(self, settings: "SpriteSettings") -> None:
        self._settings, self._poses = settings, settings.poses()
        self._family = ShapeFamily(
            seed=settings.seed,
            vertices=settings.vertices,
            radial_noise=settings.radial_noise,
            angular_noise=settings.angular_noise,
            spline_orders=settings.spline_orders,
            similarity=settings.similarity,
            siblings=settings.classes_per_task,
            difficulty=settings.difficulty,
        )
        self._nuisances = Nuisances(
            noise=settings.noise,
            blur=settings.blur,
            occluder=settings.occluder,
            clutter=settings.clutter,
            lighting=settings.lighting,
            texture=settings.texture,
        )
        sizes = split_sizes(len(self._poses.shown), settings.split)
        ends = np.cumsum([0, *sizes]).tolist()
        self._parts = dict(zip(("train", "val", "test"), map(slice, ends, ends[1:]), strict=False))

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""
        size = self._settings.image_size
        return (size, size, 3) if self._settings.rgb else (size, size)

    def class_name(self, class_id: int) -> str:
        """A word for people."""
        return f"shape {class_id}"

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The pictures of a class that belong to a split, in a fixed seeded order."""
        if split == "held_out":
            return self._poses.held_out
        shown = self._poses.shown
        mixed = shown[draws(self._settings.seed, "split", class_id).permutation(len(shown))]
        return mixed[self._parts[split]]

    def draw(self, class_ids: IntArray, picture_ids: IntArray) -> tuple[Images, Factors]:
        """The pictures themselves, with their ground truth."""
        factors = self._poses.factors(class_ids, picture_ids)
        return self.show(class_ids, factors, rows=class_ids * len(self._poses) + picture_ids), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The canonical picture of each class, without nuisances."""
        return self.show(class_ids, Factors.canonical(len(class_ids)))

    def show(self, class_ids: IntArray, factors: Factors, *, rows: IntArray | None = None) -> Images:
        """Any classes under any factors; nuisances only where rows say whose they are."""
        shapes, which = np.unique(class_ids, return_inverse=True)
        images: Images = render(
            self._family.outlines(shapes),
            factors,
            image_size=self._settings.image_size,
            which=which,
            rgb=self._settings.rgb,
            marker=self._settings.marker,
            nuisances=None if rows is None else self._nuisances,
            seed=self._settings.seed,
            rows=rows,
        )
        return 255 - images if self._settings.inverted else images
