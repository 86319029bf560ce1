import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.images.decode import MAX_FILE_BYTES, decode, gray, premultiplied, reduced

from .files import png

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
RGBA = RNG.integers(0, 256, (5, 7, 4), dtype=np.uint8)
GRAY = RNG.integers(0, 256, (5, 7), dtype=np.uint8)


def opaque(rgb):
    return np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def huge_png(width, height):
    """A valid header of a very large image."""
    header = b"IHDR" + struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    parts = (header, b"IDAT" + zlib.compress(b""))
    chunks = [struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_rgb_rgba_and_gray():
    np.testing.assert_array_equal(decode(png(RGB), "a"), opaque(RGB))
    np.testing.assert_array_equal(decode(png(RGBA), "a"), RGBA)
    np.testing.assert_array_equal(decode(png(GRAY), "a"), opaque(np.dstack([GRAY] * 3)))


def test_sixteen_bits_are_scaled():
    deep = np.array([[0, 128, 257, 40000, 65535]], np.uint16)
    np.testing.assert_array_equal(decode(png(deep), "a")[0, :, 0], [0, 0, 1, 156, 255])


def test_palette_with_transparency():
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    pixels = decode(png(image, transparency=1), "a")
    np.testing.assert_array_equal(pixels[0], [[255, 0, 0, 255], [0, 0, 255, 0]])


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "P", "CMYK", "YCbCr"])
def test_every_mode_gives_four_channels(mode):
    kind = "JPEG" if mode in ("CMYK", "YCbCr") else "PNG"
    pixels = decode(saved(Image.new(mode, (3, 2)), kind), "a")
    assert pixels.shape == (2, 3, 4)
    assert pixels.dtype == np.uint8


def test_exif_orientation_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode(saved(Image.new("RGB", (8, 4)), "JPEG", exif=exif), "a").shape == (8, 4, 4)


def test_first_frame_of_an_animation_is_used():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    content = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(decode(content, "a")[0, 0], [255, 0, 0, 255])


DAMAGED = {
    "nothing": b"",
    "text": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "cut short": png(RGB)[:-30],
    "a flipped bit": png(RGB)[:45] + b"\xff" + png(RGB)[46:],
    "an unsupported format": saved(Image.new("RGB", (3, 3)), "TIFF"),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_invalid_files_are_rejected(content):
    with pytest.raises(BadInput, match=r"cat/7\.png is not an image that can be decoded"):
        decode(content, "cat/7.png")


@pytest.mark.parametrize("side", [8_193, 10_000, 65_535])
def test_decompression_bomb_is_rejected(side):
    with pytest.raises(BadInput, match="more pixels than"):
        decode(huge_png(side, side), "a")


def test_huge_file_is_rejected():
    with pytest.raises(BadInput, match="bytes"):
        decode(bytes(MAX_FILE_BYTES + 1), "a")


def test_premultiplied():
    pixels = np.array([[[200, 100, 50, 0], [200, 100, 50, 255], [200, 100, 51, 128]]], np.uint8)
    np.testing.assert_array_equal(
        premultiplied(pixels)[0], [[0, 0, 0, 0], [200, 100, 50, 255], [100, 50, 26, 128]]
    )


def test_gray():
    pixels = np.array([[[255, 255, 255, 9], [255, 0, 0, 1], [0, 255, 0, 1], [0, 0, 255, 1]]], np.uint8)
    np.testing.assert_array_equal(gray(pixels)[0], [[255, 9], [76, 1], [150, 1], [29, 1]])


def test_reduced_averages_blocks():
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8, 1)
    assert reduced(pixels, 5) is pixels
    expected = pixels.reshape(4, 2, 4, 2).mean(axis=(1, 3)) + 0.5
    np.testing.assert_array_equal(reduced(pixels, 4)[..., 0], np.floor(expected))


@pytest.mark.parametrize("side", [2, 5, 10, 33, 48])
def test_reduced_size(side):
    assert side <= max(reduced(np.zeros((97, 50, 4), np.uint8), side).shape[:2]) <= 2 * side
