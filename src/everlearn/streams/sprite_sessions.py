"""Sprites in sessions as in CORe50: in each session every shape moves smoothly along the same path."""

from math import tau
from typing import Annotated

import numpy as np
from pydantic import Field

from everlearn.factors import Factors
from everlearn.factors.factors import rounded
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import SessionSettings
from everlearn.streams.settings import Count, ImageSize, Unit
from everlearn.streams.source import FrameSource
from everlearn.streams.sprite_stream import SpriteSettings, SpriteSource
from everlearn.streams.stream import Images

N_CLASSES = 50


class SpriteSessionSettings(SessionSettings):
    """Fifty shapes in eleven sessions, eight for training and three for testing: a synthetic CORe50.

    A session has its own background, lighting and smooth path, along which every shape rotates by up to half
    a turn, changes its size slightly and drifts. Within a session classes differ only in their shape. A
    twelfth session is for validation.

    The tasks are those of CORe50 (Lomonaco and Maltoni, 2017): scenario "nc" has 10 classes and then 8 times
    5, "nic" 391 tasks, "ni" 8.

    Example:
        >>> stream = sprites_50(image_size=32, scenario="nic")
        >>> stream, stream.task(0).train.images.shape, stream.task(1).train.images.shape
        (<sprites-50/nic-v1: 391 tasks>, (250, 32, 32), (25, 32, 32))
    """

    kind = "sprites-50"

    n_classes: Count | None = None
    """number of shapes; default: 50"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    rgb: bool = False
    """colour images instead of gray ones"""
    frames_per_session: Annotated[int, Field(ge=2, le=100_000)] = 25
    """images of a class in a session"""
    difficulty: Unit = 0.0
    """0 for the shapes of Infinite dSprites; higher values make shapes harder to distinguish"""
    texture: Unit = 0.1
    """strength of the background pattern of a session"""
    lighting: Unit = 0.2
    """strength of the uneven lighting of a session"""
    clutter: Annotated[int, Field(ge=0, le=32)] = 2
    """number of small shapes in the background of a session"""

    def source(self) -> "SpriteSessionSource":
        return SpriteSessionSource(self)


class SpriteSessionSource(FrameSource):
    """Class i is shape i of a family."""

    n_classes: int = N_CLASSES
    image_shape: tuple[int, ...] = ()

    def __init__(self, settings: SpriteSessionSettings) -> None:
        self._seed, self.n_frames = settings.seed, settings.frames_per_session
        self.n_classes = settings.n_classes or N_CLASSES
        shared = {"seed", "image_size", "rgb", "difficulty", "texture", "lighting", "clutter"}
        self._sprites = SpriteSource(SpriteSettings(**settings.model_dump(include=shared)))
        self.image_shape = self._sprites.image_shape

    def class_name(self, class_id: int) -> str:
        return self._sprites.class_name(class_id)

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        sessions, frames = np.divmod(image_ids, self.n_frames)
        # All classes share the path of a session; otherwise the position would identify the class.
        unique, session = np.unique(sessions, return_inverse=True)
        units = [rng_at(self._seed, "film", int(s)).uniform(9) for s in unique]
        factors = path(np.array(units).reshape(-1, 9)[session], frames / (self.n_frames - 1))
        return self._sprites.render(class_ids, factors, rows=sessions), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        return self._sprites.exemplars(class_ids)


def path(units: FloatArray, times: FloatArray) -> Factors:
    """The factors along smooth paths at times from 0 to 1; nine numbers in 0..1 define a path."""
    angle0, rotation, scale0, scale_range, scale_phase, x0, y0, drift, drift_phase = units.T
    oscillation = rounded(np.sin(tau * (times + scale_phase)))
    direction = tau * (0.5 * times + drift_phase)
    radius = 0.05 + 0.1 * drift
    return Factors(
        scale=0.9 + 0.4 * scale0 + 0.1 * scale_range * oscillation,
        angle=(tau * (angle0 + (rotation - 0.5) * times)) % tau,
        x=0.3 + 0.4 * x0 + radius * rounded(np.cos(direction)),
        y=0.3 + 0.4 * y0 + radius * rounded(np.sin(direction)),
    )


sprites_50 = builder(SpriteSessionSettings)
