"""Drawn shapes, a new one for every class: Infinite dSprites."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, FactorSpace, Poses
from everlearn.streams.choices import Colours, Factor, GridSize, HeldOut, ImageSize, Unit
from everlearn.streams.kinds import builder
from everlearn.streams.scenarios import ScenarioSettings
from everlearn.streams.splits import Shares, check_shares, split_sizes
from everlearn.streams.stream import Stream


class SpriteSettings(ScenarioSettings):
    """An endless stream of classes, each a new shape shown in all poses of a grid.

    The default is the benchmark of Dziadzio et al., "Infinite dSprites for Disentangled Continual
    Learning" (2023): 10 shapes per task, each in 5 scales x 5 angles x 5 x 5 places, 6000 pictures to
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
    """colour pictures instead of gray ones"""
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
    pictures_per_class: Annotated[int, Field(ge=3, le=1_000_000)] | None = None
    """poses drawn for each class where some factor is a range (625)"""
    split: Annotated[Shares, AfterValidator(check_shares)] = (0.96, 0.024, 0.016)
    """train, val and test: pictures per class, or shares that add up to 1"""
    held_out: HeldOut = 0
    """poses never trained on: how many, or a box such as {"scale": [0.9, 1.0], "x": [0.0, 0.3]}"""
    noise: Unit = 0.0
    """nuisance: standard deviation of pixel noise, as a share of the gray range"""
    blur: Annotated[float, Field(ge=0, le=16)] = 0.0
    """nuisance: standard deviation of a Gaussian blur in pixels"""
    occluder: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """nuisance: share of the picture that a bar covers"""
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
        split_sizes(len(self.poses().shown), self.split)
        return self

    def poses(self) -> Poses:
        """The poses in which every class is shown."""
        space = FactorSpace(**{name: self._factor(name) for name in FACTOR_NAMES}, colour=self.colour)
        return Poses(space, seed=self.seed, n=self.pictures_per_class, held_out=self.held_out)

    def _factor(self, name: str) -> Factor:
        own: Factor | None = getattr(self, name)
        return self.factor_values if own is None else own

    def build(self) -> Stream:
        """The stream with these settings."""
        # The renderer is compiled code: loaded when pictures are wanted, not when settings are read.
        from everlearn.streams.arranged import ArrangedStream
        from everlearn.streams.sprite_source import SpriteSource

        return ArrangedStream(spec=self, scenario=self.arrange(SpriteSource(self)))


sprites = builder(SpriteSettings)
