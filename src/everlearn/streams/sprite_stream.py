"""Infinite dSprites: every class is a new procedurally generated shape."""

from dataclasses import fields
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors, FactorSpace, Poses
from everlearn.rng import IntArray, rng_at
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import ScenarioSettings
from everlearn.streams.settings import ColourSetting, FactorSetting, GridSize, HeldOutSetting, ImageSize, Unit
from everlearn.streams.source import Source, SplitSizes, check_split, split_sizes
from everlearn.streams.stream import Images, Split


class SpriteSettings(ScenarioSettings):
    """Infinite dSprites: an unlimited number of classes, each a new shape in all poses of a grid.

    The defaults are the benchmark of Dziadzio et al., "Infinite dSprites for Disentangled Continual Learning"
    (2023): 10 shapes per task, each in 5 scales x 5 angles x 5 x 5 positions. A factor is a number of grid
    values, a list of values, or a range {"low": ..., "high": ...}.

    Example:
        >>> stream = sprites(image_size=32, factor_values=3)
        >>> stream
        <sprites/class-incremental-v1: ∞ tasks>
        >>> stream.task(1_000_000).train.images.shape
        (780, 32, 32)
    """

    kind = "sprites"

    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    rgb: bool = False
    """colour images instead of gray ones"""
    marker: bool = True
    """paint one half black, so that the angle is unambiguous"""
    inverted: bool = False
    """invert the images"""
    vertices: tuple[Annotated[int, Field(ge=3, le=32)], Annotated[int, Field(ge=3, le=32)]] = (5, 8)
    """minimum and maximum number of vertices of a shape, 3 to 32"""
    radial_noise: Unit = 0.4
    """radial noise of the vertices"""
    angular_noise: Unit = 0.5
    """angular noise of the vertices"""
    spline_orders: Annotated[tuple[Literal[1, 3], ...], Field(min_length=1)] = (1, 3)
    """polygons (1), smooth curves (3), or both at random"""
    similarity: Unit = 0.0
    """similarity of the shapes of a task: 0 for independent shapes"""
    difficulty: Unit = 0.0
    """0 for the shapes of the paper; higher values make shapes harder to distinguish"""
    factor_values: GridSize = 5
    """number of grid values of each factor that is not set"""
    scale: FactorSetting | None = None
    """scales relative to the canonical one"""
    angle: FactorSetting | None = None
    """angles in radians"""
    x: FactorSetting | None = None
    """horizontal positions from left (0) to right (1)"""
    y: FactorSetting | None = None
    """vertical positions from top (0) to bottom (1)"""
    colour: ColourSetting = 1
    """a number of hues (1 is white), a list of RGB colours in 0..1, or a range of hues"""
    images_per_class: Annotated[int, Field(ge=3, le=1_000_000)] | None = None
    """poses sampled per class if a factor is a range; default: 625"""
    split: Annotated[SplitSizes, AfterValidator(check_split)] = (0.96, 0.024, 0.016)
    """train, val and test images per class: counts, or fractions that sum to 1"""
    held_out: HeldOutSetting = 0
    """poses excluded from training: a number, or a box such as {"scale": [0.9, 1.0], "x": [0.0, 0.3]}"""
    noise: Unit = 0.0
    """nuisance: standard deviation of pixel noise, relative to the gray range"""
    blur: Annotated[float, Field(ge=0, le=16)] = 0.0
    """nuisance: standard deviation of a Gaussian blur in pixels"""
    occluder: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """nuisance: fraction of the image covered by a bar"""
    clutter: Annotated[int, Field(ge=0, le=32)] = 0
    """nuisance: number of small shapes in the background"""
    lighting: Unit = 0.0
    """nuisance: strength of uneven lighting"""
    texture: Unit = 0.0
    """nuisance: strength of a background pattern"""

    @model_validator(mode="after")
    def _check_shapes_and_poses(self) -> Self:
        if self.vertices[0] > self.vertices[1]:
            raise BadInput(f"vertices is {self.vertices}; the minimum must not exceed the maximum")
        if self.similarity and (self.first_classes or 0) % self.classes_per_task:
            raise BadInput(
                f"first_classes is {self.first_classes}, but similar shapes come in groups of "
                f"{self.classes_per_task} (classes_per_task); give a multiple of it"
            )
        split_sizes(len(self.poses().not_held_out), self.split)
        return self

    def poses(self) -> Poses:
        """The poses in which each class is shown."""
        geometry = {name: getattr(self, name) for name in FACTOR_NAMES}
        values = {name: self.factor_values if value is None else value for name, value in geometry.items()}
        space = FactorSpace(**values, colour=self.colour)
        return Poses(space, seed=self.seed, n=self.images_per_class, held_out=self.held_out)

    def source(self) -> "SpriteSource":
        return SpriteSource(self)


class SpriteSource(Source):
    """Class i is shape i of a family; image p is its p-th pose."""

    n_classes: int | None = None

    def __init__(self, settings: SpriteSettings) -> None:
        # Imported here, because settings must not load compiled code.
        from everlearn.rendering import Nuisances
        from everlearn.shapes import ShapeFamily

        self._settings, self._poses = settings, settings.poses()
        shape = {f.name: getattr(settings, f.name) for f in fields(ShapeFamily) if f.name != "group_size"}
        self._family = ShapeFamily(**shape, group_size=settings.classes_per_task)
        self._nuisances = Nuisances(**{f.name: getattr(settings, f.name) for f in fields(Nuisances)})
        sizes = split_sizes(len(self._poses.not_held_out), settings.split)
        ends = np.cumsum([0, *sizes]).tolist()
        self._slices = dict(zip(("train", "val", "test"), map(slice, ends, ends[1:]), strict=False))

    @property
    def image_shape(self) -> tuple[int, ...]:
        size = self._settings.image_size
        return (size, size, 3) if self._settings.rgb else (size, size)

    def class_name(self, class_id: int) -> str:
        return f"shape {class_id}"

    def pool(self, class_id: int, split: Split) -> IntArray:
        if split == "held_out":
            return self._poses.held_out
        poses = self._poses.not_held_out
        shuffled = poses[rng_at(self._settings.seed, "split", class_id).permutation(len(poses))]
        return shuffled[self._slices[split]]

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        factors = self._poses.factors(class_ids, image_ids)
        return self.render(class_ids, factors, rows=class_ids * len(self._poses) + image_ids), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        return self.render(class_ids, Factors.canonical(len(class_ids)))

    def render(self, class_ids: IntArray, factors: Factors, *, rows: IntArray | None = None) -> Images:
        """Render classes under any factors, with nuisances only if `rows`, their addresses, are given."""
        from everlearn.rendering.render import is_renderer_compiled, render

        if not is_renderer_compiled(self._settings.rgb):
            from everlearn.rendering.first_use import compile_at_first_use

            compile_at_first_use(self._settings.rgb)
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


sprites = builder(SpriteSettings)
