"""Shapes filmed as CORe50 films things: a few sessions each, in each of which the shape moves smoothly."""

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from everlearn.factors import Factors
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import Scenario, ScenarioSettings
from everlearn.streams.scenarios.settings import ScenarioName
from everlearn.streams.settings import Count, ImageSize, Unit
from everlearn.streams.source import Source
from everlearn.streams.sprites import SpriteSettings, SpriteSource
from everlearn.streams.stream import Images, Split, Stream

if TYPE_CHECKING:
    pass


SESSIONS: dict[Split, range] = {
    "train": range(8),
    "test": range(8, 11),
    "val": range(11, 12),
    "held_out": range(0),
}
"""Which sessions are for what."""
OBJECTS = 50
FULL_TURN = 6.283185307179586
# Rounding what comes of sines to this grid hides the last bits in which math libraries differ.
GRID = 2.0**24


class FilmedSource:
    """Class i is shape i of a family; image p of it is frame p % frames of session p // frames."""

    def __init__(self, settings: "FilmedSettings") -> None:
        self._seed, self._frames = settings.seed, settings.frames_per_session
        self.n_classes = settings.n_classes or OBJECTS
        self._sprites = SpriteSource(
            SpriteSettings(
                seed=settings.seed,
                image_size=settings.image_size,
                rgb=settings.rgb,
                difficulty=settings.difficulty,
                texture=settings.texture,
                lighting=settings.lighting,
                clutter=settings.clutter,
            )
        )

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""
        return self._sprites.image_shape

    def class_name(self, class_id: int) -> str:
        """A word for people."""
        return self._sprites.class_name(class_id)

    def sessions(self, class_id: int) -> list[IntArray]:
        """The images of each session to learn from, in the order in which they were filmed."""
        return [self._frames * s + np.arange(self._frames) for s in SESSIONS["train"]]

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The images of a class that belong to a split, one session after another."""
        chosen = SESSIONS[split]
        return np.arange(self._frames * chosen.start, self._frames * chosen.stop)

    def draw(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        """The images themselves, with their ground truth."""
        sessions, frames = np.divmod(image_ids, self._frames)
        factors = self._factors(sessions, frames)
        return self._sprites.show(class_ids, factors, rows=sessions), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The canonical image of each class, in front of nothing."""
        return self._sprites.exemplars(class_ids)

    def _factors(self, sessions: IntArray, frames: IntArray) -> Factors:
        # Nothing but its shape tells a thing from others: were paths their own, the place in a session would.
        numbers, session = np.unique(sessions, return_inverse=True)
        units = [rng_at(self._seed, "film", int(s)).uniform(9) for s in numbers]
        return path(np.array(units).reshape(-1, 9)[session], frames / (self._frames - 1))


def path(units: FloatArray, times: FloatArray) -> Factors:
    """Where a film has come to at times from 0 to 1, row by row; nine numbers from 0 to 1 say which film.

    Example:
        >>> path(np.full((2, 9), 0.5), np.array([0.0, 1.0])).scale
        array([1.1, 1.1])
    """
    turn0, turn, size0, size, size_at, x0, y0, drift, drift_at = units.T
    swing = _rounded(np.sin(FULL_TURN * (times + size_at)))
    way = FULL_TURN * (0.5 * times + drift_at)
    reach = 0.05 + 0.1 * drift
    return Factors(
        scale=0.9 + 0.4 * size0 + 0.1 * size * swing,
        angle=(FULL_TURN * (turn0 + (turn - 0.5) * times)) % FULL_TURN,
        x=0.3 + 0.4 * x0 + reach * _rounded(np.cos(way)),
        y=0.3 + 0.4 * y0 + reach * _rounded(np.sin(way)),
    )


def _rounded(values: FloatArray) -> FloatArray:
    return np.asarray(np.round(values * GRID) / GRID)


FIRST = 10
"""Objects in the first task."""


class ObjectSettings(ScenarioSettings):
    """Objects met in sessions: nc (ten objects, then five by five), nic (391 tasks) or ni (8 tasks)."""

    classes_per_task: Count = 5
    """new classes in every task after the first"""
    scenario: ScenarioName = "nc"
    """nc (new classes, more at first), nic (one session of one class at a time), ni (new instances), ..."""

    def arrange(self, source: Source) -> Scenario:
        """The order that these settings give to a source's images."""
        starts_larger = self.scenario in ("nc", "nic") and self.first_classes is None
        n_classes = self.n_classes or source.n_classes or FIRST
        if starts_larger and self.classes_per_task <= FIRST <= n_classes:
            return super(ObjectSettings, self.model_copy(update={"first_classes": FIRST})).arrange(source)
        return super().arrange(source)


class FilmedSettings(ObjectSettings):
    """Fifty shapes in eleven sessions each, eight to learn from and three to be tested on.

    A session has a background, a light and a smooth path of its own, and shows every shape in frames along
    the path: it turns by up to half a turn, grows and shrinks a little, and drifts about. So in a session
    nothing but its shape tells a thing from others. Images to choose settings with are a twelfth session.

    A twin of CORe50 (Lomonaco and Maltoni, 2017): scenario "nc" has 10 shapes and then 8 times 5, "nic" 391
    tasks, "ni" 8.

    Example:
        >>> stream = sprites_50(image_size=32, scenario="nic")
        >>> stream, stream.task(0).train.images.shape, stream.task(1).train.images.shape
        (<sprites-50/nic-v1: 391 tasks>, (250, 32, 32), (25, 32, 32))
    """

    kind = "sprites-50"

    n_classes: Count | None = None
    """shapes in all; 50 if not said"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    rgb: bool = False
    """colour images instead of gray ones"""
    frames_per_session: Annotated[int, Field(ge=2, le=100_000)] = 25
    """images in a session"""
    difficulty: Unit = 0.0
    """0: shapes as different as any; higher makes all shapes harder to tell apart"""
    texture: Unit = 0.1
    """strength of the pattern behind the shapes of a session"""
    lighting: Unit = 0.2
    """strength of the light that falls on a session from one side"""
    clutter: Annotated[int, Field(ge=0, le=32)] = 2
    """small things that lie about in a session"""

    def build(self) -> Stream:
        """The stream with these settings."""
        from everlearn.streams.scenario_stream import ScenarioStream

        pass

        return ScenarioStream(spec=self, scenario=self.arrange(FilmedSource(self)))


sprites_50 = builder(FilmedSettings)
