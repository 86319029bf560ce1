"""Frozen features of prepared images, stored in the cache folder since they take most of the time."""

import hashlib
import sqlite3
from collections.abc import Callable, Hashable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from benchmarks.photos.archives import LazyImages, Pixels, cache_folder
from everlearn.errors import BadInput
from everlearn.networks import make_backbone, to_tensor
from everlearn.networks.imagenet_backbone import ImageNetBackbone
from everlearn.networks.weights import load_backbone

Vectors = npt.NDArray[np.float32]

LAYERS = {
    "efficientnet-lite0": ("block5", "block8", "block11", "block16", "top"),
    "mobilenet-v1": ("conv4_2", "conv5_6", "conv6"),
}
"""Layers whose means over positions are stored; the last one is the usual feature vector."""
SIZE = 128
MARGIN = 0.05
UNIFORM = 12.0
"""Largest standard deviation of the levels of a border that counts as plain."""
DIFFERENT = 24
BATCH = 32


def prepared(image: Pixels, trim: bool = True, size: int = SIZE) -> Pixels:
    """The image as a square; with `trim`, without its plain border. Transparent pixels become white.

    Example:
        >>> image = np.full((40, 30, 3), 255, np.uint8)
        >>> image[10:20, 10:20] = 0
        >>> prepared(image, size=11)[:, 5, 0].tolist()
        [255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255]
    """
    image = opaque(image)
    if trim:
        border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]]).astype(np.float32)
        level = np.median(border, axis=0)
        if np.abs(border - level).mean() < UNIFORM:
            image = _trimmed(image, level)
        image = _framed(image, level)
    return np.asarray(Image.fromarray(image).resize((size, size), Image.Resampling.BICUBIC))


def opaque(image: Pixels) -> Pixels:
    """The image on white."""
    if image.shape[2] == 3:
        return image
    alpha = image[..., 3:].astype(np.float32) / 255
    return np.rint(image[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)


def _framed(image: Pixels, level: Vectors) -> Pixels:
    height, width = image.shape[:2]
    side = round(max(height, width) * (1 + 2 * MARGIN))
    square = np.empty((side, side, 3), np.uint8)
    square[:] = level
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = image
    return square


def _trimmed(image: Pixels, level: Vectors) -> Pixels:
    differs = np.abs(image - level).max(axis=2) > DIFFERENT
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not len(rows):
        return image
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


@cache
def frozen_network(name: str) -> ImageNetBackbone:
    """A backbone with ImageNet weights."""
    net = make_backbone(name, (SIZE, SIZE, 3), 0)
    if not isinstance(net, ImageNetBackbone):
        raise BadInput(f"{name!r} has no ImageNet weights; choose one of {', '.join(LAYERS)}")
    load_backbone(net, "imagenet")
    return net.eval()


@torch.no_grad()
def pooled_layers(name: str, images: Sequence[Pixels]) -> Vectors:
    """The means over positions of all layers in LAYERS, side by side (n, width)."""
    maps, means = to_tensor(np.stack(images)), []
    for layer_name, layer in frozen_network(name).named_children():
        maps = layer(maps)
        if layer_name in LAYERS[name]:
            means.append(maps.mean(dim=(2, 3)).numpy())
        if layer_name == LAYERS[name][-1]:
            break
    return np.concatenate(means, axis=1)


@cache
def _store() -> sqlite3.Connection:
    store = sqlite3.connect(cache_folder() / "features.sqlite", timeout=60)
    store.execute("CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, vector BLOB)")
    return store


def features(name: str, images: Sequence[Pixels], trim: bool = True) -> Vectors:
    """The features of images that are prepared here, from the store where they are known."""
    return remembered((name, trim), images, lambda some: _of_batch(name, some, trim))


_REMEMBERED: dict[Hashable, Vectors] = {}


def remembered(
    kind: Hashable, images: Sequence[Pixels], compute: Callable[[Sequence[Pixels]], Vectors]
) -> Vectors:
    """Vectors of images, computed once in this process, since methods and trials share images."""
    keys = images.keys if isinstance(images, LazyImages) else None
    if keys is None:
        return np.concatenate([compute(images[i : i + BATCH]) for i in range(0, len(images), BATCH)])
    new = [i for i, key in enumerate(keys) if (kind, key) not in _REMEMBERED]
    for start in range(0, len(new), BATCH):
        rows = new[start : start + BATCH]
        vectors = compute([images[i] for i in rows])
        _REMEMBERED.update(((kind, keys[i]), vector) for i, vector in zip(rows, vectors, strict=True))
    return np.stack([_REMEMBERED[kind, key] for key in keys])


def _of_batch(name: str, images: Sequence[Pixels], trim: bool) -> Vectors:
    ready = [prepared(image, trim) for image in images]
    keys = [hashlib.sha256(name.encode() + image.tobytes()).digest() for image in ready]
    marks = ",".join("?" * len(keys))
    rows = _store().execute(f"SELECT key, vector FROM features WHERE key IN ({marks})", keys)
    known = {key: np.frombuffer(vector, np.float16).astype(np.float32) for key, vector in rows}
    if new := [i for i, key in enumerate(keys) if key not in known]:
        computed = pooled_layers(name, [ready[i] for i in new]).astype(np.float16)
        with _store() as store:
            pairs = [(keys[i], row.tobytes()) for i, row in zip(new, computed, strict=True)]
            store.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", pairs)
        known |= {keys[i]: row.astype(np.float32) for i, row in zip(new, computed, strict=True)}
    return np.stack([known[key] for key in keys])


def layer_slices(name: str) -> dict[str, slice]:
    """Where the features of each layer are in a row."""
    net, places, start = frozen_network(name), {}, 0
    widths = _widths(net)
    for layer in LAYERS[name]:
        places[layer] = slice(start, start + widths[layer])
        start += widths[layer]
    return places


@torch.no_grad()
def _widths(net: ImageNetBackbone) -> dict[str, int]:
    maps, widths = torch.zeros(1, 3, 32, 32), {}
    for name, layer in net.named_children():
        maps = layer(maps)
        widths[name] = maps.shape[1]
    return widths
