import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.memory.on_disk.index import CODE_BYTES, MOST, Coder
from everlearn.rng import rng_at


def some_images(n: int, shape: tuple[int, ...] = (10, 12)) -> np.ndarray:
    size = int(np.prod(shape))
    return rng_at(6, "codes test").integers(n * size, 256).astype(np.uint8).reshape(n, *shape)


def test_directions_are_the_principal_ones() -> None:
    rng = rng_at(7, "principal test")
    strong = np.linalg.qr(rng.normal(400 * 5).reshape(400, 5))[0]
    places = rng.normal(600 * 5).reshape(600, 5) * np.array([500, 300, 200, 120, 80])
    images = np.rint(128 + places @ strong.T).clip(0, 255).astype(np.uint8).reshape(600, 20, 20)
    coder = Coder.fit(images)
    flat = images.reshape(600, -1) - images.reshape(600, -1).mean(0)
    true = np.linalg.svd(flat, full_matrices=False)[2][:5]
    np.testing.assert_allclose(np.abs(np.sum(coder.directions[:5] * true, axis=1)), 1, atol=1e-3)
    np.testing.assert_allclose(coder.directions @ coder.directions.T, np.eye(64), atol=1e-4)


def test_distances_of_codes_are_never_far_above_those_of_images() -> None:
    images = some_images(300)
    coder = Coder.fit(images[:200])
    codes = coder.encode(images).astype(float) * coder.step
    flat = images.reshape(300, -1).astype(float)
    true = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    seen = np.linalg.norm(codes[:, None] - codes[None], axis=2)
    assert (seen <= true + coder.step * np.sqrt(CODE_BYTES)).all()
    assert np.corrcoef(seen[np.triu_indices(300, 1)], true[np.triu_indices(300, 1)])[0, 1] > 0.5


def test_a_coder_comes_back_from_its_bytes() -> None:
    images = some_images(100, (6, 6, 3))
    coder = Coder.fit(images)
    again = Coder.from_bytes(coder.to_bytes())
    assert (again.encode(images) == coder.encode(images)).all()
    for damaged in (coder.to_bytes()[:-1], b"", b"nonsense"):
        with pytest.raises(BadInput):
            Coder.from_bytes(damaged)


@pytest.mark.parametrize("images", [some_images(3, (2, 2)), np.full((9, 4, 4), 7, np.uint8)])
def test_few_small_or_equal_images_have_codes_too(images: np.ndarray) -> None:
    codes = Coder.fit(images).encode(images)
    assert codes.shape == (len(images), CODE_BYTES)
    assert codes.dtype == np.int8


def test_what_lies_beyond_is_clipped() -> None:
    images = np.concatenate([np.full((50, 4, 4), 100, np.uint8), np.full((50, 4, 4), 101, np.uint8)])
    codes = Coder.fit(images).encode(np.array([np.zeros((4, 4)), np.full((4, 4), 255)], np.uint8))
    assert sorted(codes[:, 0].tolist()) == [-MOST, MOST]
