"""Where the pictures of filmed shapes come from."""

from typing import TYPE_CHECKING

import numpy as np

from everlearn.chance import FloatArray, IntArray, draws
from everlearn.factors import Factors
from everlearn.streams.batch import Images
from everlearn.streams.sprite_source import SpriteSource
from everlearn.streams.sprites import SpriteSettings
from everlearn.streams.task import Split

if TYPE_CHECKING:
    from everlearn.streams.filmed import FilmedSettings

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
    """Class i is shape i of a family; picture p of it is frame p % frames of session p // frames."""

    def __init__(self, settings: "FilmedSettings") -> None:
        self._seed, self._frames = settings.seed, settings.frames
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
        """The pictures of each session to learn from, in the order in which they were filmed."""
        return [self._frames * s + np.arange(self._frames) for s in SESSIONS["train"]]

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The pictures of a class that belong to a split, one session after another."""
        chosen = SESSIONS[split]
        return np.arange(self._frames * chosen.start, self._frames * chosen.stop)

    def draw(self, class_ids: IntArray, picture_ids: IntArray) -> tuple[Images, Factors]:
        """The pictures themselves, with their ground truth."""
        sessions, frames = np.divmod(picture_ids, self._frames)
        factors = self._factors(sessions, frames)
        return self._sprites.show(class_ids, factors, rows=sessions), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        """The canonical picture of each class, in front of nothing."""
        return self._sprites.exemplars(class_ids)

    def _factors(self, sessions: IntArray, frames: IntArray) -> Factors:
        # Nothing but its shape tells a thing from others: were paths their own, the place in a session would.
        numbers, session = np.unique(sessions, return_inverse=True)
        units = [draws(self._seed, "film", int(s)).uniform(9) for s in numbers]
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
