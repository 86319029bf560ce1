"""A sequence of environments that share factors."""

from itertools import accumulate
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from everlearn.errors import BadInput, unknown
from everlearn.streams.images import FashionSettings, ImageSettings, MnistSettings, OmniglotSettings
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import OrderedSettings
from everlearn.streams.settings import Count, DrawnSize, ImageSize, Unit, check_drawn
from everlearn.streams.source import Source
from everlearn.streams.sprites import SpriteSettings
from everlearn.streams.stream import Stream

PICTURES: dict[str, type[ImageSettings]] = {
    "mnist": MnistSettings,
    "fashion": FashionSettings,
    "omniglot": OmniglotSettings,
}
DATASETS = ("sprites", *PICTURES)
VARIANTS = ("moving", "inverted", "coloured")
DRAWN = 7 / 16
"""Of the canvas that a drawing takes if nobody says more: 28 pixels of 64."""
FULL_TURN = 6.283185307179586


class EnvironmentSettings(OrderedSettings):
    """Stages in which familiar things are shown in unfamiliar ways, as an agent meets them that moves on.

    An environment is a data set (sprites, mnist, fashion or omniglot), in front of it any of moving,
    inverted and coloured, joined by "-". The same thing has the same label in all environments, and no
    other thing has it. The default is the sequence of Achille et al., "Life-Long Disentangled
    Representation Learning with Cross-Domain Latent Homologies" (2018).

    Example:
        >>> stream = environments(sequence=["sprites", "moving-sprites"], images_per_stage=100)
        >>> [task.name for task in stream]
        ['sprites', 'moving-sprites']
    """

    kind = "environments"

    sequence: Annotated[tuple[str, ...], Field(min_length=1)] = ("moving-fashion", "mnist", "moving-mnist")
    """the environments, stage by stage; a name may come more than once"""
    recurring: bool = False
    """after the last stage begin again, without end"""
    images_per_stage: Count | Annotated[tuple[Count, ...], Field(min_length=1)] = 6000
    """images to learn from in every stage, or in each of them"""
    mix: Unit = 0.0
    """share of a stage's images that come from the other environments"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    drawn_size: DrawnSize | None = None
    """pixels of a real image, as large where it rests as where it moves; 7/16 of image_size if not said"""
    n_shapes: Count = 10
    """classes of sprites"""
    images_per_shape: Annotated[int, Field(ge=10, le=1_000_000)] = 1000
    """images of each sprite, four fifths of them to learn from"""
    data: Path | None = None
    """the folder that holds the real images; what EVERLEARN_DATA names if not said"""

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name in self.sequence:
            *variants, dataset = name.split("-")
            if dataset not in DATASETS:
                raise unknown("data set", dataset, DATASETS)
            for word in variants:
                if word not in VARIANTS:
                    raise unknown("variant", word, VARIANTS)
        check_drawn(self.drawn_size or 0, self.image_size)
        if isinstance(self.images_per_stage, tuple) and len(self.images_per_stage) != len(self.sequence):
            raise BadInput(
                f"images_per_stage has {len(self.images_per_stage)} numbers, but there are "
                f"{len(self.sequence)} stages; give one number for all, or one for each"
            )
        return self

    @property
    def title(self) -> str:
        """The sequence's part of the stream's id."""
        return "recurring-sequence" if self.recurring else "sequence"

    def build(self) -> Stream:
        """The stream with these settings."""
        from everlearn.streams.scenario_stream import ScenarioStream
        from everlearn.streams.scenarios.environment_schedule import Stages, TableLabelling
        from everlearn.streams.source import JoinedSource

        names = list(dict.fromkeys(self.sequence))
        sources = [self._source(name) for name in names]
        sizes = [source.n_classes or self.n_shapes for source in sources]
        lengths = self.images_per_stage
        scenario = Stages(
            JoinedSource(sources, sizes),
            names=names,
            sequence=[names.index(name) for name in self.sequence],
            images=lengths if isinstance(lengths, tuple) else [lengths] * len(self.sequence),
            mix=self.mix,
            recurring=self.recurring,
            labelling=TableLabelling(table=_table(names, sizes)),
            seed=self.seed,
        )
        return ScenarioStream(spec=self, scenario=scenario)

    def _source(self, name: str) -> Source:
        *variants, dataset = name.split("-")
        rgb = any("coloured" in each for each in self.sequence)
        if dataset == "sprites":
            return self._sprites(set(variants), rgb=rgb)
        settings = PICTURES[dataset](
            variant="-".join(variants) or None,
            image_size=self.image_size,
            drawn_size=self.drawn_size or round(self.image_size * DRAWN),
            rgb=rgb,
            data=self.data,
            seed=self.seed,
        )
        return settings.source()

    def _sprites(self, variants: set[str], *, rgb: bool) -> Source:
        from everlearn.streams.sprites import SpriteSource

        place = {"low": 0.0, "high": 1.0} if "moving" in variants else 1
        settings = SpriteSettings(
            seed=self.seed,
            image_size=self.image_size,
            rgb=rgb,
            inverted="inverted" in variants,
            scale={"low": 0.5, "high": 1.0},
            angle={"low": 0.0, "high": FULL_TURN},
            x=place,
            y=place,
            colour={"low": 0.0, "high": 1.0} if "coloured" in variants else 1,
            images_per_class=self.images_per_shape,
            split=(0.8, 0.1, 0.1),
        )
        return SpriteSource(settings)


def _table(names: list[str], sizes: list[int]) -> tuple[int, ...]:
    """The label of each class of the joined environments; one data set after another.

    Example:
        >>> _table(["mnist", "sprites", "moving-mnist"], [2, 3, 2])
        (0, 1, 2, 3, 4, 0, 1)
    """
    datasets = [name.split("-")[-1] for name in names]
    n_classes = dict(zip(datasets, sizes, strict=True))
    starts = dict(zip(n_classes, accumulate(n_classes.values(), initial=0), strict=False))
    return tuple(starts[dataset] + i for dataset in datasets for i in range(n_classes[dataset]))


environments = builder(EnvironmentSettings)
