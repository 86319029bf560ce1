"""How far off an estimate of the factors is."""

import numpy as np
import numpy.typing as npt

from everlearn.chance import FloatArray
from everlearn.errors import BadInput
from everlearn.factors import Factors


def factor_errors(estimated: Factors, true: Factors) -> dict[str, float]:
    """The mean error in each factor.

    Scale is judged relative to the true one, angles on the circle (in radians), x, y and `position` (both
    together) as parts of the image.

    Example:
        >>> true = Factors(scale=[0.5, 1.0], angle=[0.1, 6.2])
        >>> errors = factor_errors(Factors(scale=[0.6, 1.0], angle=[6.2, 0.1], x=[0.8, 0.5]), true)
        >>> {name: round(error, 3) for name, error in errors.items()}
        {'scale': 0.1, 'angle': 0.183, 'x': 0.15, 'y': 0.0, 'position': 0.15}
    """
    return {name: float(error.mean()) for name, error in factor_errors_each(estimated, true).items()}


def factor_errors_each(estimated: Factors, true: Factors) -> dict[str, FloatArray]:
    """The error in each factor, image by image, as `factor_errors` counts it."""
    if len(estimated) != len(true) or not len(true):
        raise BadInput(f"{len(estimated)} estimates for {len(true)} images; give one each, at least one")
    dx, dy = estimated.x - true.x, estimated.y - true.y
    return {
        "scale": np.abs(estimated.scale / true.scale - 1),
        "angle": angle_error(estimated.angle, true.angle),
        "x": np.abs(dx),
        "y": np.abs(dy),
        "position": np.hypot(dx, dy),
    }


def angle_error(estimated: npt.ArrayLike, true: npt.ArrayLike) -> FloatArray:
    """The way between two angles along the circle, 0 to pi.

    Example:
        >>> angle_error([0.1, np.pi], [2 * np.pi - 0.1, -np.pi]).round(3)
        array([0.2, 0. ])
    """
    apart = np.asarray(estimated, np.float64) - np.asarray(true, np.float64)
    return np.asarray(np.abs((apart + np.pi) % (2 * np.pi) - np.pi))
