"""Validation of a user's images and labels, with one sentence for each error."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.dataset import Pixels

CHANNELS = (1, 3, 4)
SHAPES = "(n, H, W) or (n, H, W, channels) with 1, 3 or 4 channels"


def to_numpy(values: Any) -> npt.NDArray[Any]:
    """A numpy array of an array, a tensor of PyTorch or a list; nested lists have equal lengths."""
    try:
        return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except ValueError as error:
        raise BadInput(f"a list is not an array ({error}); give rows of equal length") from None


def check_images(images: Any, name: str = "images") -> Pixels:
    """Images as (n, H, W) or (n, H, W, C) uint8; channels may come first, and floats are in 0..1.

    Example:
        >>> check_images(np.ones((2, 3, 8, 8))).shape, check_images([np.zeros((8, 9), np.uint8)]).dtype
        ((2, 8, 8, 3), dtype('uint8'))
    """
    if images is None:
        raise BadInput(f"{name} are missing; give an array {SHAPES}")
    if isinstance(images, Sequence) and len(shapes := {to_numpy(image).shape for image in images}) > 1:
        first, second = sorted(shapes)[:2]
        raise BadInput(
            f"{name} have different sizes, such as {first} and {second}; resize them to one size, or save "
            "them as files and use from_folder, which fits them to image_size"
        )
    array = to_numpy(images)
    if not array.size:
        raise BadInput(f"{name} are empty, with the shape {array.shape}; give at least one image")
    if array.ndim not in (3, 4) or array.dtype.kind not in "buif":
        raise BadInput(f"{name} have the shape {array.shape} and type {array.dtype}; give numbers {SHAPES}")
    return _to_bytes(_channels_last(array, name), name)


def _channels_last(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if array.ndim == 4 and array.shape[-1] not in CHANNELS:
        if array.shape[1] not in CHANNELS:
            raise BadInput(f"{name} have the shape {array.shape}; give {SHAPES}, or with the channels first")
        array = np.moveaxis(array, 1, -1)
    return array[..., 0] if array.ndim == 4 and array.shape[-1] == 1 else array


def _to_bytes(array: npt.NDArray[Any], name: str) -> Pixels:
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            bad = int(np.argmin(np.isfinite(array.reshape(len(array), -1)).all(axis=1)))
            raise BadInput(f"{name}[{bad}] contains NaN or infinity; correct or remove it")
        _check_values(array, 1, name)
        return np.rint(array * 255).astype(np.uint8)
    if array.dtype.kind == "b":
        return array.astype(np.uint8) * 255
    _check_values(array, 255, name)
    return array.astype(np.uint8)


def _check_values(array: npt.NDArray[Any], highest: int, name: str) -> None:
    low, high = array.min().item(), array.max().item()
    if low < 0 or high > highest:
        raise BadInput(
            f"{name} have values from {low} to {high}; integers must be in 0..255 and floats in 0..1 "
            "(remove a normalization, or divide by the highest value)"
        )


def check_labels(labels: Any, n_images: int, name: str = "labels", of: str = "images") -> IntArray:
    """Labels as (n,) int64, one per image."""
    if labels is None:
        raise BadInput(f"{name} are missing; give one whole number per image")
    array = to_numpy(labels)
    if array.ndim != 1 or len(array) != n_images:
        raise BadInput(
            f"{name} have the shape {array.shape}, but there are {n_images} {of}; give one label per image"
        )
    if array.dtype.kind not in "ui":
        raise BadInput(
            f"{name} are of the type {array.dtype}, such as {array.tolist()[0]!r}; give whole numbers "
            "from 0, for example numpy.unique(labels, return_inverse=True)[1]"
        )
    if array.min() < 0:
        raise BadInput(f"{name} contain {array.min()}; labels must not be negative, remove unlabelled images")
    return array.astype(np.int64)


def check_classes(labels: Sequence[IntArray], names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the classes; labels are those for training, validation and testing."""
    n_classes = len(names) if names is not None else 1 + max(int(part.max()) for part in labels if len(part))
    if names is not None and len(set(names)) < len(names):
        raise BadInput("names contain a name twice; give each class its own")
    found = [set(np.unique(part).tolist()) for part in labels]
    if n_classes <= (highest := max(max(part) for part in found if part)):
        raise BadInput(f"there are {n_classes} names, but a label is {highest}; give a name for each label")
    for label in range(n_classes):
        named = f"label {label}" if names is None else f"class {names[label]!r} (label {label})"
        if label not in found[0]:
            raise BadInput(
                f"{named} has no images for training; add some, or number the classes from 0 without gaps"
            )
        if found[2] and label not in found[2]:
            raise BadInput(f"{named} has no test images; add some, or leave the test images out")
    return tuple(map(str, range(n_classes))) if names is None else tuple(names)
