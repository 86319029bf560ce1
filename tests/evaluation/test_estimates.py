import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.evaluation import angle_error, factor_errors, factor_errors_each
from everlearn.factors import Factors

ANGLES = st.floats(-20, 20)


@given(ANGLES, ANGLES, st.integers(-3, 3))
def test_angles_are_compared_on_the_circle(a: float, b: float, turns: int) -> None:
    error = float(angle_error(a, b))
    assert 0 <= error <= np.pi
    assert error == pytest.approx(float(angle_error(b, a)), abs=1e-9)
    assert error == pytest.approx(float(angle_error(a + 2 * np.pi * turns, b)), abs=1e-9)
    assert error == pytest.approx(float(np.arccos(np.clip(np.cos(a - b), -1, 1))), abs=1e-6)


def test_worked_by_hand() -> None:
    true = Factors(scale=[0.5, 2.0], angle=[0.0, 3.0], x=0.5, y=0.5)
    guess = Factors(scale=[1.0, 1.0], angle=[2 * np.pi, -3.0], x=[0.8, 0.5], y=[0.9, 0.5])
    each = factor_errors_each(guess, true)
    assert each["scale"] == pytest.approx([1.0, 0.5])
    assert each["angle"] == pytest.approx([0.0, 2 * np.pi - 6.0])
    assert each["position"] == pytest.approx([0.5, 0.0])
    mean = {"scale": 0.75, "angle": np.pi - 3, "x": 0.15, "y": 0.2, "position": 0.25}
    assert factor_errors(guess, true) == pytest.approx(mean)


def test_a_perfect_estimate_has_no_error() -> None:
    true = Factors(scale=[0.5, 0.7], angle=[1.0, 6.0], x=[0.1, 0.9], y=0.3)
    assert set(factor_errors(true, true).values()) == {0.0}


def test_estimates_and_images_must_match() -> None:
    with pytest.raises(BadInput, match="1 estimates for 2 images"):
        factor_errors(Factors(), Factors(scale=[1.0, 1.0]))
    with pytest.raises(BadInput, match="at least one"):
        factor_errors(Factors(scale=[]), Factors(scale=[]))
