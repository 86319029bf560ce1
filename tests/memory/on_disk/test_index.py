import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.memory.on_disk.index import BLOCK, CODE_BYTES, FREE, MAX_CODE, CodeTable, PCACoder
from everlearn.rng import rng_at


def some_images(n: int, shape: tuple[int, ...] = (10, 12)) -> np.ndarray:
    size = int(np.prod(shape))
    return rng_at(6, "codes test").integers(n * size, 256).astype(np.uint8).reshape(n, *shape)


def test_components_equal_svd() -> None:
    rng = rng_at(7, "principal test")
    strong = np.linalg.qr(rng.normal(400 * 5).reshape(400, 5))[0]
    levels = rng.normal(600 * 5).reshape(600, 5) * np.array([500, 300, 200, 120, 80])
    images = np.rint(128 + levels @ strong.T).clip(0, 255).astype(np.uint8).reshape(600, 20, 20)
    coder = PCACoder.fit(images)
    flat = images.reshape(600, -1) - images.reshape(600, -1).mean(0)
    true = np.linalg.svd(flat, full_matrices=False)[2][:5]
    np.testing.assert_allclose(np.abs(np.sum(coder.components[:5] * true, axis=1)), 1, atol=1e-3)
    np.testing.assert_allclose(coder.components @ coder.components.T, np.eye(64), atol=1e-4)


def test_code_distances_approximate_lower_bounds() -> None:
    images = some_images(300)
    coder = PCACoder.fit(images[:200])
    codes = coder.encode(images).astype(float) * coder.step
    flat = images.reshape(300, -1).astype(float)
    true = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    approximate = np.linalg.norm(codes[:, None] - codes[None], axis=2)
    assert (approximate <= true + coder.step * np.sqrt(CODE_BYTES)).all()
    assert np.corrcoef(approximate[np.triu_indices(300, 1)], true[np.triu_indices(300, 1)])[0, 1] > 0.5


def test_coder_round_trip() -> None:
    images = some_images(100, (6, 6, 3))
    coder = PCACoder.fit(images)
    again = PCACoder.from_bytes(coder.to_bytes())
    assert (again.encode(images) == coder.encode(images)).all()
    for damaged in (coder.to_bytes()[:-1], b"", b"nonsense"):
        with pytest.raises(BadInput):
            PCACoder.from_bytes(damaged)


@pytest.mark.parametrize("images", [some_images(3, (2, 2)), np.full((9, 4, 4), 7, np.uint8)])
def test_few_small_or_equal_images(images: np.ndarray) -> None:
    codes = PCACoder.fit(images).encode(images)
    assert codes.shape == (len(images), CODE_BYTES)
    assert codes.dtype == np.int8


def test_codes_are_clipped() -> None:
    images = np.concatenate([np.full((50, 4, 4), 100, np.uint8), np.full((50, 4, 4), 101, np.uint8)])
    codes = PCACoder.fit(images).encode(np.array([np.zeros((4, 4)), np.full((4, 4), 255)], np.uint8))
    assert sorted(codes[:, 0].tolist()) == [-MAX_CODE, MAX_CODE]


def some_codes(n: int) -> np.ndarray:
    words = rng_at(8, "code table test").integers(n * CODE_BYTES, 255) - 127
    return words.astype(np.int8).reshape(n, CODE_BYTES)


@pytest.mark.parametrize("n", [40, BLOCK, 2 * BLOCK + 7])
def test_nearest_equals_a_full_sort(n: int) -> None:
    codes, table = some_codes(n), CodeTable()
    labels = np.where(np.arange(n) % 5 == 0, FREE, np.arange(n))
    for rows in np.array_split(rng_at(9, "order of rows").permutation(n), 3):
        table.write(rows, labels[rows], codes[rows])
    queries = codes[[0, 1, n - 1]] // 2
    difference = codes[None].astype(np.int64) - queries[:, None]
    distances = np.where(labels == FREE, np.iinfo(np.int64).max, np.square(difference).sum(2))
    expected = np.argsort(distances, axis=1, kind="stable")[:, :20]
    assert (np.sort(table.nearest(queries, 20), axis=1) == np.sort(expected, axis=1)).all()
    found = np.take_along_axis(distances, table.nearest(queries, 20), 1)
    assert (np.diff(found, axis=1) >= 0).all()


def test_free_rows() -> None:
    table, codes = CodeTable(), some_codes(3)
    table.write(np.array([1, BLOCK + 1]), np.array([5, 6]), codes[:2])
    assert len(table) == BLOCK + 2
    assert (table.labels >= 0).sum() == 2
    table.write(np.array([1]), np.array([FREE]), np.zeros((1, CODE_BYTES), np.int8))
    assert table.nearest(codes[:1], 1).tolist() == [[BLOCK + 1]]
    table.write(np.zeros(0, np.int64), np.zeros(0, np.int64), codes[:0])
    assert len(table) == BLOCK + 2


def test_unused_capacity_is_at_most_a_quarter() -> None:
    table = CodeTable()
    for start in range(0, 40 * BLOCK, BLOCK):
        table.write(np.array([start]), np.array([start]), some_codes(1))
        needed = (start // BLOCK + 1) * BLOCK * (8 + CODE_BYTES)
        assert needed <= table.nbytes <= 1.25 * needed
