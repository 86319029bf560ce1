import numpy as np
import pytest

from everlearn.memory.on_disk.index import BLOCK, CODE_BYTES, FREE, CodeTable
from everlearn.rng import rng_at


def some_codes(n: int) -> np.ndarray:
    words = rng_at(8, "code table test").integers(n * CODE_BYTES, 255) - 127
    return words.astype(np.int8).reshape(n, CODE_BYTES)


@pytest.mark.parametrize("n", [40, BLOCK, 2 * BLOCK + 7])
def test_the_nearest_are_those_of_a_full_sort(n: int) -> None:
    codes, table = some_codes(n), CodeTable()
    labels = np.where(np.arange(n) % 5 == 0, FREE, np.arange(n))
    for rows in np.array_split(rng_at(9, "order of rows").permutation(n), 3):
        table.write(rows, labels[rows], codes[rows])
    queries = codes[[0, 1, n - 1]] // 2
    apart = codes[None].astype(np.int64) - queries[:, None]
    distances = np.where(labels == FREE, np.iinfo(np.int64).max, np.square(apart).sum(2))
    expected = np.argsort(distances, axis=1, kind="stable")[:, :20]
    assert (np.sort(table.nearest(queries, 20), axis=1) == np.sort(expected, axis=1)).all()
    found = np.take_along_axis(distances, table.nearest(queries, 20), 1)
    assert (np.diff(found, axis=1) >= 0).all()


def test_rows_between_are_free_and_rows_can_be_freed() -> None:
    table, codes = CodeTable(), some_codes(3)
    table.write(np.array([1, BLOCK + 1]), np.array([5, 6]), codes[:2])
    assert len(table) == BLOCK + 2
    assert (table.labels >= 0).sum() == 2
    table.write(np.array([1]), np.array([FREE]), np.zeros((1, CODE_BYTES), np.int8))
    assert table.nearest(codes[:1], 1).tolist() == [[BLOCK + 1]]
    table.write(np.zeros(0, np.int64), np.zeros(0, np.int64), codes[:0])
    assert len(table) == BLOCK + 2


def test_spare_room_is_at_most_a_quarter() -> None:
    table = CodeTable()
    for start in range(0, 40 * BLOCK, BLOCK):
        table.write(np.array([start]), np.array([start]), some_codes(1))
        needed = (start // BLOCK + 1) * BLOCK * (8 + CODE_BYTES)
        assert needed <= table.nbytes <= 1.25 * needed
