import sys

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.streams.adapters import to_huggingface
from tests.streams.exports.tiny_stream import TinyStream


@pytest.mark.parametrize("rgb", [False, True])
def test_rows_equal_the_stream(rgb):
    datasets = pytest.importorskip("datasets")
    stream = TinyStream(rgb=rgb)
    found = to_huggingface(stream, [0, 2])
    assert {name: len(split) for name, split in found.items()} == {
        "train": 12,
        "val": 4,
        "test": 8,
        "held_out": 6,
        "exemplars": 4,
    }
    assert isinstance(found["test"].features["image"], datasets.Image)
    assert found["test"].features["label"].num_classes == 6
    test = stream.task(2).test
    for i, row in enumerate(found["test"].select(range(4, 8))):
        np.testing.assert_array_equal(np.asarray(row["image"]), test.images[i])
        assert (row["label"], row["task"], row["angle"]) == (test.labels[i], 2, test.factors.angle[i])


def test_empty_splits_are_omitted():
    pytest.importorskip("datasets")
    found = to_huggingface(TinyStream(held_out=False, factors=False))
    assert set(found) == {"train", "val", "test", "exemplars"}
    assert found["train"][0]["scale"] is None


def test_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(BadInput, match=r"needs datasets, .*pip install datasets"):
        to_huggingface(TinyStream())
