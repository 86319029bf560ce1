"""Drawn shapes, a new one for every class: Infinite dSprites."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors, FactorSpace, Poses
from everlearn.rendering import Nuisances, render
from everlearn.rng import IntArray, rng_at
from everlearn.shapes import ShapeFamily
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import ScenarioSettings
from everlearn.streams.settings import Colours, Factor, GridSize, HeldOut, ImageSize, Unit
from everlearn.streams.source import Shares, check_shares, split_sizes
from everlearn.streams.stream import Images, Split, Stream

if TYPE_CHECKING:
    pass


class SpriteSource:
    """Class i is shape i of a family; image p of it is its pose number p."""

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
            group_size=settings.classes_per_task,
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
        sizes = split_sizes(len(self._poses.not_held_out), settings.split)
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
        """The images of a class that belong to a split, in a fixed seeded order."""
        if split == "held_out":
            return self._poses.held_out
        shown = self._poses.not_held_out
        mixed = shown[rng_at(self._settings.seed, "split", class_id).permutation(len(shown))]
        return mixed[self._parts[split]]

    def draw(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        """The images themselves, with their ground truth."""
        factors = self._poses.factors(class_ids, image_ids)
        return self.show(class_ids, factors, rows=class_ids * len(self._poses) + image_ids), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The canonical image of each class, without nuisances."""
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


class SpriteSettings(ScenarioSettings):
    """An endless stream of classes, each a new shape shown in all poses of a grid.

    The default is the benchmark of Dziadzio et al., "Infinite dSprites for Disentangled Continual
    Learning" (2023): 10 shapes per task, each in 5 scales x 5 angles x 5 x 5 places, 6000 images to
    learn from, 150 to choose settings with and 100 to be tested on. A factor is a number of grid
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
    """paint one half black, so that every angle can be told"""
    inverted: bool = False
    """show the negative"""
    vertices: tuple[Annotated[int, Field(ge=3, le=32)], Annotated[int, Field(ge=3, le=32)]] = (5, 8)
    """fewest and most corners of a shape, 3 to 32"""
    radial_noise: Unit = 0.4
    """how far corners stray inwards and outwards"""
    angular_noise: Unit = 0.5
    """how far corners stray sideways"""
    spline_orders: Annotated[tuple[Literal[1, 3], ...], Field(min_length=1)] = (1, 3)
    """edges are straight (1) or curved (3), chosen at random from these"""
    similarity: Unit = 0.0
    """0: shapes of a task are unrelated; 1: they are siblings of one ancestor"""
    difficulty: Unit = 0.0
    """0: the paper's shapes; higher makes all shapes harder to tell apart"""
    factor_values: GridSize = 5
    """grid values of every factor that is not set by itself"""
    scale: Factor | None = None
    """sizes relative to the canonical one"""
    angle: Factor | None = None
    """turns in radians"""
    x: Factor | None = None
    """places from left (0) to right (1)"""
    y: Factor | None = None
    """places from top (0) to bottom (1)"""
    colour: Colours = 1
    """a number of hues (1 is white), a list of red-green-blue colours in 0..1, or a range of hues"""
    images_per_class: Annotated[int, Field(ge=3, le=1_000_000)] | None = None
    """poses drawn for each class where some factor is a range (625)"""
    split: Annotated[Shares, AfterValidator(check_shares)] = (0.96, 0.024, 0.016)
    """train, val and test: images per class, or shares that add up to 1"""
    held_out: HeldOut = 0
    """poses never trained on: how many, or a box such as {"scale": [0.9, 1.0], "x": [0.0, 0.3]}"""
    noise: Unit = 0.0
    """nuisance: standard deviation of pixel noise, as a share of the gray range"""
    blur: Annotated[float, Field(ge=0, le=16)] = 0.0
    """nuisance: standard deviation of a Gaussian blur in pixels"""
    occluder: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """nuisance: share of the image that a bar covers"""
    clutter: Annotated[int, Field(ge=0, le=32)] = 0
    """nuisance: small things lying about in the background"""
    lighting: Unit = 0.0
    """nuisance: strength of uneven light"""
    texture: Unit = 0.0
    """nuisance: strength of a pattern on the background"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.vertices[0] > self.vertices[1]:
            raise BadInput(f"vertices is {self.vertices}; the fewest must not be more than the most")
        if self.similarity and (self.first_classes or 0) % self.classes_per_task:
            raise BadInput(
                f"first_classes is {self.first_classes}, but similar shapes come in families of "
                f"{self.classes_per_task} (classes_per_task); give a multiple of it"
            )
        split_sizes(len(self.poses().not_held_out), self.split)
        return self

    def poses(self) -> Poses:
        """The poses in which every class is shown."""
        space = FactorSpace(**{name: self._factor(name) for name in FACTOR_NAMES}, colour=self.colour)
        return Poses(space, seed=self.seed, n=self.images_per_class, held_out=self.held_out)

    def _factor(self, name: str) -> Factor:
        own: Factor | None = getattr(self, name)
        return self.factor_values if own is None else own

    def build(self) -> Stream:
        """The stream with these settings."""
        # The renderer is compiled code: loaded when images are wanted, not when settings are read.
        from everlearn.streams.scenario_stream import ScenarioStream

        pass

        return ScenarioStream(spec=self, scenario=self.arrange(SpriteSource(self)))


sprites = builder(SpriteSettings)
