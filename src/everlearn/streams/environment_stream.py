"""Sequences of environments with shared factors, as used by VASE."""

from itertools import accumulate
from math import tau
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from everlearn.errors import BadInput, unknown
from everlearn.streams.images import (
    FashionSettings,
    FolderSettings,
    ImageSettings,
    MnistSettings,
    OmniglotSettings,
)
from everlearn.streams.registry import builder
from everlearn.streams.scenario_stream import ScenarioStream
from everlearn.streams.scenarios import LabelMap, ScenarioStreamSettings
from everlearn.streams.scenarios.environment_schedule import EnvironmentSchedule
from everlearn.streams.settings import Count, DrawnSize, ImageSize, Unit, check_drawn_size
from everlearn.streams.source import ConcatSource, Source
from everlearn.streams.sprite_stream import SpriteSettings
from everlearn.streams.stream import Stream

IMAGE_DATASETS: dict[str, type[ImageSettings]] = {
    "mnist": MnistSettings,
    "fashion": FashionSettings,
    "omniglot": OmniglotSettings,
}
DATASETS = ("sprites", *IMAGE_DATASETS)
VARIANTS = ("moving", "inverted", "coloured")
DRAWN_FRACTION = 7 / 16
"""Default size of a real image relative to the canvas: 28 of 64 pixels."""


class EnvironmentSettings(ScenarioStreamSettings):
    """A sequence of environments that show the same objects in different ways.

    The name of an environment is that of a dataset (sprites, mnist, fashion or omniglot), preceded by any of
    moving, inverted and coloured, joined by "-". Any other dataset is a folder in the folder of datasets,
    with one sub-folder of images per class; its images fill the canvas unless they move. With images of faces
    in celeba/faces, ["celeba", "inverted-fashion"] is a sequence of VASE's paper. An object has the same
    label in all environments. The default is the sequence of VASE: Achille et al., "Life-Long Disentangled
    Representation Learning" (2018).

    Example:
        >>> stream = environments(sequence=["sprites", "moving-sprites"], images_per_stage=100)
        >>> [task.name for task in stream]
        ['sprites', 'moving-sprites']
    """

    kind = "environments"

    sequence: Annotated[tuple[str, ...], Field(min_length=1)] = ("moving-fashion", "mnist", "moving-mnist")
    """the environment of each task; an environment may occur more than once"""
    recurring: bool = False
    """repeat the sequence without end"""
    images_per_stage: Count | Annotated[tuple[Count, ...], Field(min_length=1)] = 6000
    """training images of every task: one number, or one for each task"""
    mix: Unit = 0.0
    """fraction of the images of a task that come from the other environments"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    drawn_size: DrawnSize | None = None
    """size of a real image on the canvas in pixels; default: 7/16 of image_size"""
    n_shapes: Count = 10
    """number of classes of sprites"""
    images_per_shape: Annotated[int, Field(ge=10, le=1_000_000)] = 1000
    """images of each sprite, four fifths of them for training"""
    data: Path | None = None
    """folder of the datasets; default: EVERLEARN_DATA"""

    @model_validator(mode="after")
    def _check_sequence(self) -> Self:
        for name in self.sequence:
            *variants, dataset = name.split("-")
            if dataset not in DATASETS and self._folder(dataset) is None:
                raise unknown("dataset", dataset, DATASETS)
            for variant in variants:
                if variant not in VARIANTS:
                    raise unknown("variant", variant, VARIANTS)
        check_drawn_size(self.drawn_size or 0, self.image_size)
        if isinstance(self.images_per_stage, tuple) and len(self.images_per_stage) != len(self.sequence):
            raise BadInput(
                f"images_per_stage has {len(self.images_per_stage)} numbers, but the sequence has "
                f"{len(self.sequence)} environments; give one number for all, or one for each"
            )
        return self

    @property
    def title(self) -> str:
        return "recurring-sequence" if self.recurring else "sequence"

    def build(self) -> Stream:
        names = list(dict.fromkeys(self.sequence))
        sources = [self._source(name) for name in names]
        sizes = [source.n_classes or self.n_shapes for source in sources]
        n_images = self.images_per_stage
        scenario = EnvironmentSchedule(
            source=ConcatSource(sources, sizes),
            names=names,
            sequence=[names.index(name) for name in self.sequence],
            n_images=n_images if isinstance(n_images, tuple) else [n_images] * len(self.sequence),
            mix=self.mix,
            recurring=self.recurring,
            label_map=LabelMap(table=_label_table(names, sizes)),
            seed=self.seed,
        )
        return ScenarioStream(spec=self, scenario=scenario)

    def _folder(self, dataset: str) -> Path | None:
        """The folder of images of this name beside the datasets, if there is one."""
        from everlearn.streams.images.location import data_folder  # settings do not load readers

        path = (data_folder() if self.data is None else self.data) / dataset
        return path if dataset and path.is_dir() else None

    def _source(self, name: str) -> Source:
        *variants, dataset = name.split("-")
        common: dict[str, Any] = self.model_dump(include={"seed", "image_size"})
        common["rgb"] = any("coloured" in each for each in self.sequence)
        if dataset not in DATASETS:
            size = self.drawn_size or (None if "moving" in variants else self.image_size)
            variant = "-".join(variants) or None
            folder = self._folder(dataset)
            return FolderSettings(
                **common, variant=variant, data=folder, drawn_size=size, background=0
            ).source()
        if dataset != "sprites":
            common["drawn_size"] = self.drawn_size or round(self.image_size * DRAWN_FRACTION)
            return IMAGE_DATASETS[dataset](
                **common, variant="-".join(variants) or None, data=self.data
            ).source()
        position = {"low": 0.0, "high": 1.0} if "moving" in variants else 1
        settings = SpriteSettings(
            **common,
            inverted="inverted" in variants,
            scale={"low": 0.5, "high": 1.0},
            angle={"low": 0.0, "high": tau},
            x=position,
            y=position,
            colour={"low": 0.0, "high": 1.0} if "coloured" in variants else 1,
            images_per_class=self.images_per_shape,
            split=(0.8, 0.1, 0.1),
        )
        return settings.source()


def _label_table(names: list[str], sizes: list[int]) -> tuple[int, ...]:
    """The label of each class of the concatenated environments; each dataset has its own labels."""
    datasets = [name.split("-")[-1] for name in names]
    n_classes = dict(zip(datasets, sizes, strict=True))
    starts = dict(zip(n_classes, accumulate(n_classes.values(), initial=0), strict=False))
    return tuple(starts[dataset] + i for dataset in datasets for i in range(n_classes[dataset]))


environments = builder(EnvironmentSettings)
