import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.memory import ExemplarMemory
from everlearn.memory.search import Lookup, encode
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
def test_nearest_is_brute_force(seed: int, n: int, k: int, block: int, colour: bool, smooth: bool) -> None:
    shape = (n, 10, 12, 3) if colour else (n, 10, 12)
    images = noise(seed, *shape) // (40 if smooth else 1)
    memory, lookup = filled(images), Lookup(block=block)
    lookup.follow(memory)
    queries = noise(seed + 1, 5, *shape[1:]).astype(np.float32)
    rows, distances = lookup.nearest(queries, k)
    exact = brute_force(queries, memory)
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :k], rtol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(exact, rows, 1), distances, rtol=1e-6)


def test_the_search_goes_on_until_it_is_proved() -> None:
    """Stripes that average to the same gray: codes alone cannot tell the queries apart."""
    images = np.full((300, 16, 16), 100, np.uint8)
    images[:, ::2] += np.arange(300, dtype=np.uint8)[:, None, None] % 90
    images[:, 1::2] -= np.arange(300, dtype=np.uint8)[:, None, None] % 90
    images[299, 0, 0] = 255
    lookup, memory = Lookup(block=4), filled(images)
    lookup.follow(memory)
    turned = images[:20].transpose(0, 2, 1).astype(np.float32)
    distances = lookup.nearest(turned, 3)[1]
    np.testing.assert_allclose(distances, np.sort(brute_force(turned, memory), 1)[:, :3])


def test_code_distances_never_exceed_those_of_images() -> None:
    images = noise(3, 40, 16, 16)
    codes, rests = encode(images, 4)
    for i in range(0, 40, 7):
        bound = np.square(codes - codes[i]).sum(1) + np.square(rests - rests[i])
        true = np.square(images.astype(float) - images[i]).sum((1, 2))
        assert (bound <= true * (1 + 1e-5) + 1e-3).all()


@given(st.lists(st.tuples(st.sampled_from("aafr"), st.integers(0, 20)), max_size=25))
@settings(max_examples=50, deadline=None)
def test_codes_follow_every_edit(edits: list[tuple[str, int]]) -> None:
    memory, lookup = ExemplarMemory(), Lookup(block=4)
    for number, (edit, label) in enumerate(edits):
        if edit == "a":
            memory.add(Batch(noise(number, 1, 8, 8), np.array([label])))
        elif label in memory:
            if edit == "f":
                memory.forget(label)
            else:
                memory.replace(label, noise(number, 2, 8, 8))
        lookup.follow(memory)
        assert len(lookup) == len(memory)
        if len(memory):
            rows, distances = lookup.nearest(memory.images.astype(np.float32), 1)
            assert (distances == 0).all()
            assert (memory.images[rows[:, 0]] == memory.images).all()


def test_following_says_whether_anything_changed() -> None:
    memory, lookup = filled(noise(0, 3, 8, 8)), Lookup()
    assert lookup.follow(memory)
    assert not lookup.follow(memory)
    memory.forget(2)
    assert lookup.follow(memory)
    assert lookup.follow(filled(noise(1, 3, 8, 8)))


def test_another_memory_of_the_same_version_is_another_memory() -> None:
    lookup = Lookup()
    lookup.follow(filled(noise(0, 3, 8, 8)))
    other = filled(noise(1, 3, 8, 8))
    lookup.follow(other)
    assert (lookup.nearest(other.images.astype(np.float32), 1)[1] == 0).all()


@pytest.mark.parametrize("k", [1, 4, 50])
def test_asking_for_more_than_there_is_gives_all(k: int) -> None:
    memory, lookup = filled(noise(0, 4, 8, 8)), Lookup()
    lookup.follow(memory)
    assert lookup.candidates(memory.images.astype(np.float32), k)[0].shape == (4, min(k, 4))
    assert lookup.nearest(memory.images.astype(np.float32), k)[0].shape == (4, min(k, 4))


def test_nothing_of_a_forgotten_image_stays_in_the_codes() -> None:
    images = noise(0, 3, 8, 8)
    memory, lookup = filled(images), Lookup(block=2)
    lookup.follow(memory)
    code = encode(images[:1], 2)[0][0]
    memory.forget(0)
    lookup.follow(memory)
    assert code.tobytes() not in lookup._table.tobytes()
    assert lookup._table.base is None
