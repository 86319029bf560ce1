"""What makes pictures harder to read without changing what they show."""

from dataclasses import astuple, dataclass

import numpy as np

from everlearn.errors import BadInput, check_range

LARGEST_BLUR = 16.0
MOST_CLUTTER = 32
LARGEST_OCCLUDER = 0.5


@dataclass(frozen=True)
class Nuisances:
    """Disturbances of a picture, each off at 0; every picture gets its own, drawn from (seed, row).

    They come in the order in which a camera would meet them: texture and clutter lie behind the shape, the
    occluder in front, light falls on all of it, the lens blurs it and the sensor adds noise.

    Args:
        noise: standard deviation of independent noise per pixel and channel, as a share of the range, 0..1.
        blur: standard deviation of a Gaussian blur in pixels, 0..16.
        occluder: area of a bar of some gray, centred anywhere in the middle half of the picture, as a
            share of the picture's area, 0..0.5.
        clutter: number of small gray shapes scattered behind, 0..32.
        lighting: how much darker the picture is at its far side than at its lit one, 0..1.
        texture: how far a smooth random pattern moves the background up or down, as a share of the range,
            0..1.

    Example:
        >>> Nuisances(noise=0.1).are_none, Nuisances().are_none
        (False, True)
    """

    noise: float = 0.0
    blur: float = 0.0
    occluder: float = 0.0
    clutter: int = 0
    lighting: float = 0.0
    texture: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "lighting", "texture"):
            check_range(name, getattr(self, name), 0, 1)
        check_range("blur", self.blur, 0, LARGEST_BLUR)
        check_range("occluder", self.occluder, 0, LARGEST_OCCLUDER)
        if isinstance(self.clutter, bool) or not isinstance(self.clutter, int | np.integer):
            raise BadInput(f"clutter is {self.clutter!r}; it must be a whole number of shapes")
        check_range("clutter", self.clutter, 0, MOST_CLUTTER)

    @property
    def are_none(self) -> bool:
        """Whether nothing is disturbed at all."""
        return not any(astuple(self))
