import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams.images.mnist import read_idx

from .files import idx_bytes, write_idx

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("array", [IMAGES, IMAGES.ravel()], ids=["images", "labels"])
def test_what_was_written_is_read(tmp_path, suffix, array):
    path = tmp_path / f"file{suffix}"
    write_idx(path, array)
    read = read_idx(path, n_axes=array.ndim)
    np.testing.assert_array_equal(read, array)
    assert not read.flags.writeable


WHOLE = idx_bytes(IMAGES)
DAMAGED = {
    "nothing": b"",
    "half a header": WHOLE[:9],
    "wrong magic": b"\x00\x00\x09\x03" + WHOLE[4:],
    "labels instead of images": idx_bytes(IMAGES.ravel()),
    "cut short": WHOLE[:-1],
    "too long": WHOLE + b"\x00",
    "huge claim": bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**31, 2**31, 2**31),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_damage_is_said(tmp_path, content, suffix):
    path = tmp_path / f"train-images{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(BadInput, match="train-images"):
        read_idx(path, n_axes=3)


def test_truncated_gzip_is_said(tmp_path):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(WHOLE)[:-12])
    with pytest.raises(BadInput, match=r"cannot be read .* put an undamaged copy"):
        read_idx(path, n_axes=3)


def test_missing_file_is_said(tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        read_idx(tmp_path / "images", n_axes=3)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("idx") / "file.gz"
    path.write_bytes(content)
    with pytest.raises(BadInput):
        read_idx(path, n_axes=1)
