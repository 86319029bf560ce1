import numpy as np
import numpy.typing as npt
import pytest

from everlearn.memory import ExemplarMemory, coarse_search, search
from everlearn.memory.coarse_search import CoarseCodes
from everlearn.memory.search import NearestIndex
from everlearn.rng import rng_at
from everlearn.streams import Batch

Images = npt.NDArray[np.uint8]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MIN_ROWS", 64)


def blobs(seed: int, n: int) -> Images:
    """Images with a few random waves, so that some components explain most of them."""
    y, x = np.indices((16, 16)) / 16
    waves = np.stack([np.sin(2 * np.pi * (a * x + b * y)) for a in range(3) for b in range(3)][1:])
    weights = rng_at(seed, "test").normal(8 * n).reshape(n, 8)
    images: Images = (128 + 15 * np.tensordot(weights, waves, 1)).clip(0, 255).astype(np.uint8)
    return images


def indexed(images: Images) -> tuple[ExemplarMemory, NearestIndex]:
    memory, index = ExemplarMemory(), NearestIndex(block=2)
    memory.add(Batch(images, np.arange(len(images))))
    index.update(memory)
    return memory, index


def expected(index: NearestIndex, queries: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
    return np.argsort(index._bounds(queries), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 8, 50])
def test_candidates_equal_those_of_all_codes(k: int) -> None:
    _, index = indexed(blobs(0, 300))
    queries = blobs(1, 20).astype(np.float32)
    rows, distances = index.candidates(queries, k)
    assert index._coarse is not None
    np.testing.assert_array_equal(rows, expected(index, queries, k))
    np.testing.assert_allclose(
        distances, np.take_along_axis(index._bounds(queries), rows, 1), rtol=1e-4, atol=20
    )


def test_few_codes_are_compared() -> None:
    """Codes that bounds exclude are not looked at: they may hold anything."""
    _, index = indexed(blobs(0, 2000))
    queries = blobs(1, 5).astype(np.float32)
    rows = expected(index, queries, 4)
    bounds = index._bounds(queries).min(axis=0)
    far = np.argsort(bounds)[1000:]
    index._codes[far] = np.nan  # the coarse codes stay
    np.testing.assert_array_equal(index.candidates(queries, 4)[0], rows)


def test_edits_are_followed_and_the_basis_is_renewed_with_growth() -> None:
    images = blobs(0, 1000)
    memory, index = indexed(images[:100])
    first = index._coarse
    memory.forget(3)
    memory.add(Batch(images[100:200], np.arange(100, 200)))
    index.update(memory)
    queries = blobs(1, 10).astype(np.float32)
    np.testing.assert_array_equal(index.candidates(queries, 5)[0], expected(index, queries, 5))
    assert index._coarse is first
    memory.add(Batch(images[200:], np.arange(200, 1000)))
    index.update(memory)
    assert isinstance(index._coarse, CoarseCodes)
    assert index._coarse is not first
    assert index.nbytes == index._codes.nbytes + index._coarse.nbytes
    for label in memory.labels[60:].tolist():
        memory.forget(label)
    index.update(memory)
    assert index._coarse is None


def test_equal_codes_are_ordered_by_row() -> None:
    rows, kept = np.zeros(3, np.int64), np.zeros(3, np.float32)
    coarse_search.keep_smallest(np.array([5, 2, 9, 2, 5], np.float32), rows, kept)
    assert (rows.tolist(), kept.tolist()) == ([1, 3, 0], [2, 2, 5])
