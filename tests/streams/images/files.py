"""Small datasets on disk, in the formats of the real ones."""

import gzip
import io
import struct
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_idx(path, array):
    content = idx_bytes(array)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_mnist(root, name="mnist", n_train=30, n_test=20, suffix=".gz", size=28):
    """Random images with labels 0 to 9; returns images and labels of each part."""
    folder = Path(root) / name
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    written = {}
    for part, n in (("train", n_train), ("t10k", n_test)):
        images = rng.integers(0, 256, (n, size, size), dtype=np.uint8)
        labels = (np.arange(n) % 10).astype(np.uint8)
        write_idx(folder / f"{part}-images-idx3-ubyte{suffix}", images)
        write_idx(folder / f"{part}-labels-idx1-ubyte{suffix}", labels)
        written[part] = images, labels
    return written


def png(array, **options):
    buffer = io.BytesIO()
    image = array if isinstance(array, Image.Image) else Image.fromarray(array)
    image.save(buffer, "PNG", **options)
    return buffer.getvalue()


def stroke(seed):
    """A 105 x 105 image as in Omniglot: one bit, black on white."""
    pixels = np.ones((105, 105), bool)
    rng = np.random.default_rng(seed)
    row, column = rng.integers(20, 70, 2)
    pixels[row : row + 25, column : column + 4] = False
    return png(Image.fromarray(pixels))


def omniglot_members(name, alphabets=("Greek", "Balinese"), n_characters=2, n_images=20):
    seed = sum(map(ord, name))
    return {
        f"{name}/{alphabet}/character{c:02}/{a:02}{c:02}_{i:02}.png": stroke((seed, a, c, i))
        for a, alphabet in enumerate(alphabets)
        for c in range(1, n_characters + 1)
        for i in range(1, n_images + 1)
    }


def write_zip(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def write_tree(root, members):
    for name, content in members.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
