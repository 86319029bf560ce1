import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from everlearn.errors import BadInput
from everlearn.serialization import digest, pack, unpack

DTYPES = st.sampled_from([np.uint8, np.int64, np.float32, np.float64, np.bool_])
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
NAMES = st.text(min_size=1, max_size=8).filter(lambda name: "/" not in name and name != "__array__")
TREES = st.recursive(
    st.dictionaries(NAMES, PLAIN | ARRAYS | st.lists(PLAIN, max_size=3), max_size=4),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=50)
@given(TREES)
def test_pack_and_unpack_are_inverse(tree: dict) -> None:
    back = unpack(pack(tree))
    assert digest(back) == digest(tree)
    np.testing.assert_equal(back, tree)
    assert list(back) == list(tree)


def test_non_contiguous_array() -> None:
    array = np.arange(24).reshape(4, 6)[::2, ::-3]
    assert (unpack(pack({"a": array}))["a"] == array).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": np.zeros(2)}, {"a": np.zeros(2, np.float32)}),
        ({"a": np.zeros((2, 1))}, {"a": np.zeros(2)}),
        ({"a": np.zeros(2)}, {"b": np.zeros(2)}),
        ({"a": 1}, {"a": 1.5}),
        ({"a": {"b": 1}}, {"a": {"c": 1}}),
    ],
)
def test_different_trees_have_different_digests(one: dict, other: dict) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize("tree", [{1: 2}, {"a/b": 1}, {"__array__": "x"}])
def test_reserved_keys_are_rejected(tree: dict) -> None:
    with pytest.raises(TypeError, match="cannot have the key"):
        pack(tree)


@pytest.mark.parametrize(
    "tree", [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}, {"a": [np.zeros(1)]}]
)
def test_values_that_are_not_json_are_rejected(tree: dict) -> None:
    with pytest.raises((TypeError, ValueError)):
        pack(tree)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04\x95",
        b"\xff" * 8 + b"{}",
        (2**62).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (4).to_bytes(8, "little") + b"null",
        pack({"a": 1})[:-1],
        b"\x93NUMPY\x01\x00",
    ],
)
def test_invalid_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(BadInput, match="not a saved state"):
        unpack(data)


def test_reference_to_a_missing_array_is_rejected() -> None:
    header = json.dumps({"__metadata__": {"plain": '{"a": {"__array__": "/b"}}'}}).encode()
    with pytest.raises(BadInput, match="not a saved state"):
        unpack(len(header).to_bytes(8, "little") + header)
