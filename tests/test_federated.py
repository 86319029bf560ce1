import json

import numpy as np
import pytest
from benchmarks import federated
from benchmarks.federated import RESULTS, SPLITS, Omniglot, Pixels, Split, compare, same, table

from everlearn.memory.class_means import ClassMeans
from everlearn.rng import rng_at

N_CHARACTERS = 6
SHAPE = (N_CHARACTERS * federated.N_IMAGES, 4, 4)
OMNIGLOT = Omniglot(
    rng_at(0, "test federated").integers(int(np.prod(SHAPE)), 256).astype(np.uint8).reshape(SHAPE),
    np.repeat(np.arange(N_CHARACTERS), federated.N_IMAGES),
    np.repeat(np.arange(N_CHARACTERS), federated.N_IMAGES),
    np.tile(np.arange(federated.N_IMAGES), N_CHARACTERS),
)


@pytest.mark.parametrize(("name", "split", "n_clients"), SPLITS)
def test_clients_share_the_training_images(name: str, split: Split, n_clients: int) -> None:
    clients = split(OMNIGLOT, n_clients)
    assert len(clients) == n_clients
    np.testing.assert_array_equal(np.sort(np.concatenate(clients)), OMNIGLOT.train)
    writers = [set(OMNIGLOT.writers[rows].tolist()) for rows in clients]
    alphabets = [set(OMNIGLOT.alphabets[rows].tolist()) for rows in clients]
    groups = {"by writer": writers, "by alphabet": alphabets}.get(name)
    if groups is not None:
        assert sum(map(len, groups)) == len(set.union(*groups))
    else:
        assert {len(rows) for rows in clients} == {N_CHARACTERS * federated.N_TRAIN // n_clients}


@pytest.mark.parametrize(("name", "split", "n_clients"), SPLITS)
def test_merged_clients_are_the_central_learner(name: str, split: Split, n_clients: int) -> None:
    row = compare(Pixels(OMNIGLOT), split, n_clients)
    assert row["same_statistics"]
    assert row["same_predictions"]
    assert row["merged"] == row["central"]
    assert len(row["single"]) == len(row["bytes_sent"]) == n_clients


def test_sums_in_another_order_are_the_same_and_others_are_not() -> None:
    one, two, three = (ClassMeans(n_features=2) for _ in range(3))
    vectors = np.array([[0.5, 1.0], [2.0, 0.25]])
    one.add(vectors, np.array([7, 4]))
    two.add(vectors[::-1], np.array([4, 7]))
    three.add(vectors, np.array([4, 7]))
    assert same(one, two)
    assert not same(one, three)


def test_page_is_that_of_the_stored_numbers() -> None:
    assert table(json.loads(RESULTS.read_text("utf-8"))) in federated.PAGE.read_text("utf-8")
