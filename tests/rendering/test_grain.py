import numpy as np

from everlearn.rendering.nuisances import add_noise, normal_quantiles, uniforms


def test_quantiles_are_standard_normal() -> None:
    values = normal_quantiles().astype(float)
    assert abs(values.mean()) < 1e-6
    assert abs(values.std() - 1) < 2e-3
    assert (np.diff(values) > 0).all()


def test_uniforms_belong_to_their_row() -> None:
    rows = np.array([5, 2**62, -1, 5])
    values = uniforms(np.uint64(3), rows, 7, 50)
    assert np.array_equal(values[0], values[3])
    assert np.array_equal(values[1:2], uniforms(np.uint64(3), rows[1:2], 7, 50))
    assert not np.array_equal(values[0], values[1])
    assert 0 < values.min() < 0.1 < 0.9 < values.max() < 1


def test_noise_is_independent_of_place_row_and_seed() -> None:
    def noise(seed: int) -> np.ndarray:
        canvas = np.zeros((20, 1003), np.float32)
        add_noise(np.uint64(seed), np.arange(20), 9, normal_quantiles(), np.float32(0.5), canvas)
        return canvas

    values = noise(1)
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 0.5) < 0.01
    assert np.abs(np.corrcoef(values) - np.eye(20)).max() < 0.15
    assert abs(np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]) < 0.02
    assert not np.array_equal(values, noise(2))
