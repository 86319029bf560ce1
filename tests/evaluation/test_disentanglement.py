"""Representations whose scores are known: perfect, blank, duplicated, rotated, merged, random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.evaluation.disentanglement import (
    completeness_of,
    dci,
    disentanglement_of,
    factor_vae_score,
    mig,
    sap,
)
from everlearn.rng import rng_at
from tests.evaluation.disentanglement_codes import tables

N = 3000
SOURCE = rng_at(0, "oracle factors")
FACTORS = np.stack([SOURCE.integers(N, n) for n in (5, 8, 10, 10)], axis=1).astype(float)
STANDARD = (FACTORS - FACTORS.mean(axis=0)) / FACTORS.std(axis=0)
NOISE = SOURCE.normal(N * 4).reshape(N, 4)
QUARTER_TURN = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(0, 1).map(lambda x: x**3),
)
OUTSIDE = {
    "perfect": (0.988, 0.996, 1.0, 1.0, 1.0, 1.0),
    "noisy": (0.382, 0.799, 1.0, 0.926, 0.926, 0.812),
    "extra codes": (0.969, 0.996, 1.0, 1.0, 1.0, 1.0),
    "leaking": (0.161, 0.722, 1.0, 0.742, 0.743, 0.996),
    "rotated": (0.335, 0.519, 1.0, 0.619, 0.619, 1.0),
    "random": (0.003, 0.001, 0.365, 0.032, 0.035, 0.0),
}
"""MIG, SAP, FactorVAE and DCI (three values) by scikit-learn; see `make_disentanglement_values.py`."""


@pytest.mark.parametrize("name", OUTSIDE)
def test_values_agree_with_those_of_scikit_learn(name: str) -> None:
    factors, codes = tables()
    z, (expected_mig, expected_sap, expected_factor_vae, *expected_dci) = codes[name], OUTSIDE[name]
    assert mig(z, factors) == pytest.approx(expected_mig, abs=1e-3)
    assert sap(z, factors) == pytest.approx(expected_sap, abs=1e-3)
    assert factor_vae_score(z, factors) == pytest.approx(expected_factor_vae, abs=0.03)
    result = dci(z, factors)
    scores = [result.disentanglement, result.completeness, result.informativeness]
    assert scores == pytest.approx(expected_dci, abs=0.06)


def test_perfect() -> None:
    result = dci(STANDARD[:1000], FACTORS[:1000])
    assert min(result.disentanglement, result.completeness, result.informativeness) > 0.999
    assert result.importances.argmax(axis=0).tolist() == [0, 1, 2, 3]
    assert mig(STANDARD, FACTORS) > 0.98
    assert sap(STANDARD, FACTORS) > 0.99
    assert factor_vae_score(STANDARD, FACTORS) == 1.0


def test_order_sign_and_scale_of_codes_do_not_matter() -> None:
    turned = STANDARD[:, [2, 0, 3, 1]] * [-1.0, 100.0, 0.01, -3.0]
    assert mig(turned, FACTORS) == pytest.approx(mig(STANDARD, FACTORS))
    assert sap(turned, FACTORS) == pytest.approx(sap(STANDARD, FACTORS))
    assert factor_vae_score(turned, FACTORS) == 1.0
    assert dci(turned, FACTORS).disentanglement > 0.98


def test_only_sap_penalizes_nonlinear_codes() -> None:
    bent = np.exp(STANDARD)
    assert mig(bent, FACTORS) > 0.98
    assert dci(bent, FACTORS).informativeness > 0.98
    assert sap(bent, FACTORS) < 0.9


def test_blank() -> None:
    blank = np.full((N, 4), 7.0)
    result = dci(blank, FACTORS)
    assert (result.disentanglement, result.completeness, result.informativeness) == (0.0, 0.0, 0.0)
    assert mig(blank, FACTORS) == sap(blank, FACTORS) == factor_vae_score(blank, FACTORS) == 0.0


def test_random() -> None:
    result = dci(NOISE, FACTORS)
    assert max(result.disentanglement, result.completeness, result.informativeness) < 0.15
    assert mig(NOISE, FACTORS) < 0.02
    assert sap(NOISE, FACTORS) < 0.02
    assert factor_vae_score(NOISE, FACTORS) == pytest.approx(1 / 4, abs=0.06)


def test_duplicated_codes_are_disentangled_but_not_complete() -> None:
    twice = np.hstack([STANDARD, STANDARD])
    result = dci(twice, FACTORS)
    assert result.disentanglement > 0.98
    # Two of eight codes share each factor: 1 - log 2 / log 8, if they share it fairly.
    assert result.completeness == pytest.approx(2 / 3, abs=0.08)
    assert mig(twice, FACTORS) == sap(twice, FACTORS) == 0.0
    assert factor_vae_score(twice, FACTORS) == 1.0


def test_rotated_pairs() -> None:
    turned = np.hstack([STANDARD[:, :2] @ QUARTER_TURN, STANDARD[:, 2:] @ QUARTER_TURN])
    result = dci(turned, FACTORS)
    # Each code matters for two of four factors alike: 1 - log 2 / log 4.
    assert result.disentanglement == pytest.approx(0.5, abs=0.05)
    assert result.completeness == pytest.approx(0.5, abs=0.05)
    assert result.informativeness > 0.98
    assert mig(turned, FACTORS) < 0.05
    assert sap(turned, FACTORS) < 0.05
    assert factor_vae_score(turned, FACTORS) < 0.65


def test_all_mixed() -> None:
    result = dci(STANDARD @ HADAMARD, FACTORS)
    assert max(result.disentanglement, result.completeness) < 0.05
    assert result.informativeness > 0.85
    assert factor_vae_score(STANDARD @ HADAMARD, FACTORS) == pytest.approx(1 / 4, abs=0.08)


def test_merged_codes_are_complete_but_not_disentangled() -> None:
    merged = np.stack([FACTORS[:, 0] + 5 * FACTORS[:, 1], FACTORS[:, 2] + 10 * FACTORS[:, 3]], axis=1)
    result = dci(merged, FACTORS)
    assert result.disentanglement == pytest.approx(0.5, abs=0.05)
    assert result.completeness > 0.9


def test_noise_codes_do_not_matter() -> None:
    more = np.hstack([STANDARD, NOISE])
    result = dci(more, FACTORS)
    assert min(result.disentanglement, result.completeness) > 0.95
    assert mig(more, FACTORS) > 0.97
    assert factor_vae_score(more, FACTORS) == 1.0


def test_mig_by_hand() -> None:
    # One fair bit; the first code is the bit, the second agrees with it in three of four rows.
    factor = np.array([[0], [0], [0], [0], [1], [1], [1], [1]])
    half = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    kept = 1 + 0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)
    assert mig(np.stack([factor[:, 0], half], axis=1), factor) == pytest.approx(1 - kept)


def test_sap_by_hand() -> None:
    factor = np.array([[0.0], [1.0], [2.0]])
    codes = np.stack([factor[:, 0], [0.0, 1.0, 0.0]], axis=1)
    assert sap(codes, factor) == pytest.approx(1.0)
    assert sap(np.array([[0.0], [0.0], [1.0]]), factor) == pytest.approx(0.75)


def test_constant_factors_are_ignored() -> None:
    with_constant = np.hstack([FACTORS, np.ones((N, 1))])
    assert mig(STANDARD, with_constant) == mig(STANDARD, FACTORS)
    assert sap(STANDARD, with_constant) == sap(STANDARD, FACTORS)


def test_seed_determines_the_result() -> None:
    turned = STANDARD @ HADAMARD
    assert factor_vae_score(turned, FACTORS, seed=1) == factor_vae_score(turned, FACTORS, seed=1)
    assert np.array_equal(dci(turned, FACTORS).importances, dci(turned, FACTORS).importances)


@pytest.mark.parametrize(
    ("codes", "factors", "sentence"),
    [
        (np.zeros((3, 2)), np.zeros((4, 2)), r"codes have shape \(3, 2\)"),
        (np.zeros(3), np.zeros((3, 1)), r"codes have shape \(3,\)"),
        (np.zeros((3, 0)), np.ones((3, 1)), "give"),
        (np.full((3, 1), np.nan), np.arange(3.0)[:, None], "not finite"),
        (np.zeros((3, 1)), np.ones((3, 1)), "all factors are constant"),
    ],
)
def test_bad_input_is_refused(codes: np.ndarray, factors: np.ndarray, sentence: str) -> None:
    for metric in (mig, sap, factor_vae_score, dci):
        with pytest.raises(BadInput, match=sentence):
            metric(codes, factors)


def test_dci_scores_worked_by_hand() -> None:
    matrix = np.array([[3.0, 1.0], [0.0, 4.0]])
    first = 1 + 0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)
    assert disentanglement_of(matrix) == pytest.approx((4 * first + 4 * 1.0) / 8)
    second = 1 + 0.2 * np.log2(0.2) + 0.8 * np.log2(0.8)
    assert completeness_of(matrix) == pytest.approx((3 * 1.0 + 5 * second) / 8)


@given(MATRICES)
def test_dci_scores_are_bounded_and_symmetric(matrix: np.ndarray) -> None:
    for metric in (disentanglement_of, completeness_of):
        assert -1e-9 <= metric(matrix) <= 1 + 1e-9
        assert metric(matrix[::-1, ::-1]) == pytest.approx(metric(matrix))
    assert completeness_of(matrix) == disentanglement_of(matrix.T)


def test_dci_of_special_cases() -> None:
    assert disentanglement_of(np.zeros((3, 2))) == completeness_of(np.zeros((3, 2))) == 0.0
    assert disentanglement_of([[0.2], [0.8]]) == 1.0, "a single factor"
    with pytest.raises(BadInput, match="there are 5 rows"):
        dci(np.arange(5.0)[:, None], np.arange(5.0)[:, None])
