import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.memory import ExemplarMemory
from everlearn.memory.search import NearestIndex, encode
from everlearn.streams import Batch


def noise(seed: int, *shape: int) -> npt.NDArray[np.uint8]:
    return np.random.Generator(np.random.Philox(seed)).integers(0, 256, shape).astype(np.uint8)


def filled(images: npt.NDArray[np.uint8]) -> ExemplarMemory:
    memory = ExemplarMemory()
    memory.add(Batch(images, np.arange(len(images))))
    return memory


def brute_force(images: npt.NDArray[np.float32], memory: ExemplarMemory) -> npt.NDArray[np.float64]:
    known = memory.images.astype(np.float64)
    return np.stack([np.square(known - p).reshape(len(known), -1).sum(1) for p in images])


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    k=st.integers(1, 8),
    block=st.integers(1, 5),
    colour=st.booleans(),
    smooth=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_nearest_equals_brute_force(
    seed: int, n: int, k: int, block: int, colour: bool, smooth: bool
) -> None:
    shape = (n, 10, 12, 3) if colour else (n, 10, 12)
    images = noise(seed, *shape) // (40 if smooth else 1)
    memory, index = filled(images), NearestIndex(block=block)
    index.update(memory)
    queries = noise(seed + 1, 5, *shape[1:]).astype(np.float32)
    rows, distances = index.nearest(queries, k)
    exact = brute_force(queries, memory)
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :k], rtol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(exact, rows, 1), distances, rtol=1e-6)


def test_search_continues_until_it_is_exact() -> None:
    """Stripes with equal averages, which codes cannot distinguish."""
    images = np.full((300, 16, 16), 100, np.uint8)
    images[:, ::2] += np.arange(300, dtype=np.uint8)[:, None, None] % 90
    images[:, 1::2] -= np.arange(300, dtype=np.uint8)[:, None, None] % 90
    images[299, 0, 0] = 255
    index, memory = NearestIndex(block=4), filled(images)
    index.update(memory)
    turned = images[:20].transpose(0, 2, 1).astype(np.float32)
    distances = index.nearest(turned, 3)[1]
    np.testing.assert_allclose(distances, np.sort(brute_force(turned, memory), 1)[:, :3])


def test_code_distances_are_lower_bounds() -> None:
    images = noise(3, 40, 16, 16)
    codes, lost = encode(images, 4)
    for i in range(0, 40, 7):
        bound = np.square(codes - codes[i]).sum(1) + np.square(lost - lost[i])
        true = np.square(images.astype(float) - images[i]).sum((1, 2))
        assert (bound <= true * (1 + 1e-5) + 1e-3).all()


@given(st.lists(st.tuples(st.sampled_from("aafr"), st.integers(0, 20)), max_size=25))
@settings(max_examples=50, deadline=None)
def test_index_follows_every_edit(edits: list[tuple[str, int]]) -> None:
    memory, index = ExemplarMemory(), NearestIndex(block=4)
    for number, (edit, label) in enumerate(edits):
        if edit == "a":
            memory.add(Batch(noise(number, 1, 8, 8), np.array([label])))
        elif label in memory:
            if edit == "f":
                memory.forget(label)
            else:
                memory.replace(label, noise(number, 2, 8, 8))
        index.update(memory)
        assert len(index) == len(memory)
        if len(memory):
            rows, distances = index.nearest(memory.images.astype(np.float32), 1)
            assert (distances == 0).all()
            assert (memory.images[rows[:, 0]] == memory.images).all()


def test_update_returns_whether_the_memory_changed() -> None:
    memory, index = filled(noise(0, 3, 8, 8)), NearestIndex()
    assert index.update(memory)
    assert not index.update(memory)
    memory.forget(2)
    assert index.update(memory)
    assert index.update(filled(noise(1, 3, 8, 8)))


def test_another_memory_of_the_same_version_is_indexed() -> None:
    index = NearestIndex()
    index.update(filled(noise(0, 3, 8, 8)))
    other = filled(noise(1, 3, 8, 8))
    index.update(other)
    assert (index.nearest(other.images.astype(np.float32), 1)[1] == 0).all()


@pytest.mark.parametrize("k", [1, 4, 50])
def test_k_beyond_the_size_returns_all(k: int) -> None:
    memory, index = filled(noise(0, 4, 8, 8)), NearestIndex()
    index.update(memory)
    assert index.candidates(memory.images.astype(np.float32), k)[0].shape == (4, min(k, 4))
    assert index.nearest(memory.images.astype(np.float32), k)[0].shape == (4, min(k, 4))


def test_codes_of_removed_images_are_erased() -> None:
    images = noise(0, 3, 8, 8)
    memory, index = filled(images), NearestIndex(block=2)
    index.update(memory)
    code = encode(images[:1], 2)[0][0]
    memory.forget(0)
    index.update(memory)
    assert code.tobytes() not in index._codes.tobytes()
    assert index._codes.base is None
