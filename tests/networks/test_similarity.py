import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.factors import Factors
from everlearn.networks.similarity import (
    CANONICAL,
    compose,
    factors_of,
    inverse,
    matrices_of,
    nearest_similarity,
    poses_of,
)

number = st.floats(-1, 1)
pose = st.tuples(st.floats(0.2, 3), st.floats(0, 6.28), number, number)


def poses(*given: tuple[float, float, float, float]) -> torch.Tensor:
    scale, angle, x, y = np.array(given).T
    return poses_of(Factors(scale=scale, angle=angle, x=x, y=y))


def square(matrices: torch.Tensor) -> torch.Tensor:
    return torch.cat([matrices, torch.tensor([[[0.0, 0.0, 1.0]]]).expand(len(matrices), 1, 3)], 1)


@given(pose, pose)
@settings(max_examples=60, deadline=None)
def test_composing_is_multiplying_matrices(one: tuple[float, ...], two: tuple[float, ...]) -> None:
    a, b = poses(one), poses(two)  # type: ignore[arg-type]
    product = square(matrices_of(a)) @ square(matrices_of(b))
    torch.testing.assert_close(square(matrices_of(compose(a, b))), product, atol=1e-5, rtol=1e-5)


@given(pose)
@settings(max_examples=60, deadline=None)
def test_the_inverse_leads_back(one: tuple[float, ...]) -> None:
    a = poses(one)  # type: ignore[arg-type]
    torch.testing.assert_close(compose(inverse(a), a), torch.tensor([CANONICAL]), atol=1e-5, rtol=1e-5)


@given(pose)
@settings(max_examples=60, deadline=None)
def test_factors_come_back(one: tuple[float, ...]) -> None:
    there_and_back = factors_of(poses(one)).array()[0]  # type: ignore[arg-type]
    turn = (there_and_back[1] - one[1] + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose([*there_and_back[[0, 2, 3]], turn], [one[0], one[2], one[3], 0], atol=1e-4)


def test_the_matrices_are_those_of_the_factors() -> None:
    factors = Factors(scale=[0.5, 2.0], angle=[1.0, 4.0], x=[0.1, 0.9], y=[0.2, 0.7])
    np.testing.assert_allclose(matrices_of(poses_of(factors)).numpy(), factors.matrices(), atol=1e-6)


@given(pose)
def test_a_matrix_without_shear_is_its_own_nearest_similarity(
    given: tuple[float, float, float, float],
) -> None:
    torch.testing.assert_close(nearest_similarity(matrices_of(poses(given))), poses(given))
