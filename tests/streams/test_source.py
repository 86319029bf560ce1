import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams.source import ConcatSource, split_sizes

from .toy_source import ToySource


@settings(max_examples=50)
@given(st.integers(3, 5000))
def test_fractions_use_all_images(n):
    sizes = split_sizes(n, (0.96, 0.024, 0.016))
    assert sum(sizes) == n
    assert min(sizes) >= 1


def test_concatenated_sources():
    first, second = ToySource(), ToySource(sizes={"train": 1, "val": 1, "test": 1, "held_out": 1})
    both = ConcatSource([first, second], [3, 2])
    assert both.n_classes == 5
    assert both.classes_of(1).tolist() == [3, 4]
    assert both.class_name(4) == "toy 1"
    assert len(both.pool(2, "train")) == 24
    assert len(both.pool(3, "train")) == 1
    class_ids, image_ids = np.array([4, 0, 3, 2]), np.array([7, 8, 9, 10])
    expected = first.load(np.array([1, 0, 0, 2]), image_ids)[0]
    assert (both.load(class_ids, image_ids)[0] == expected).all()
    assert (both.exemplars(class_ids) == first.exemplars(np.array([1, 0, 0, 2]))).all()


def test_sources_of_different_shapes_are_rejected():
    other = ToySource()
    other.image_shape = (3, 3)
    with pytest.raises(BadInput, match="different shapes"):
        ConcatSource([ToySource(), other], [1, 1])
