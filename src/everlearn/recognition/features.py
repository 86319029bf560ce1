"""Descriptors of images: feature vectors that are compared by dot products."""

from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, unknown
from everlearn.networks.inference import InferenceNet
from everlearn.networks.published_weights import published
from everlearn.streams.stream import Images

Descriptors = npt.NDArray[np.float32]

BATCH = 16
"""Images described together: more do not fit into the processor's cache."""
LAYERS = {
    "efficientnet-lite0": ("block8", "block11", "top"),
    "mobilenet-v1": ("conv5_2", "conv5_6", "conv6"),
    "mobilenet-v1-0.25": ("conv5_2", "conv5_6", "conv6"),
}
"""Layers whose means over the object form a descriptor: details, parts and whole objects."""
WHOLE_LAYERS = {
    "efficientnet-lite0": ("block16", "top"),
    "mobilenet-v1": ("conv5_6", "conv6"),
    "mobilenet-v1-0.25": ("conv5_6", "conv6"),
}
"""Layers whose means over all positions describe a whole image: these encode more of the category."""
WHOLE_SIZE = 192
"""Pixels per side of a whole image: closer to the images that the networks were trained with."""
GRID = 8
"""Cells per side of a mask; the maps of a layer have as many, or half as many."""
AUTO = "auto"
GRADIENTS = "gradients"
N_ANGLES, N_CELLS, COLOUR_WEIGHT = 8, 8, 0.7
"""Orientations and cells per side of gradient histograms, and the weight of colours beside them."""


class Features(Protocol):
    """Data that a memory needs to compare images.

    Attributes:
        name: stored with the memory, so that it is opened with the same features.
        size: pixels per side of the images.
        widths: the number of features of each layer; a descriptor has those of all layers side by side.
        whole_widths: the same for descriptors of whole images; empty if the features have none.
        alignment_weight: weight of alignment beside the similarity of descriptors.
    """

    name: str
    size: int
    widths: tuple[int, ...]
    whole_widths: tuple[int, ...]
    alignment_weight: float

    def describe(self, images: Images, masks: Descriptors) -> Descriptors:
        """Descriptors (n, n_features) of objects in images (n, size, size, 3).

        Args:
            images: of the objects.
            masks: (n, GRID, GRID) the share of each cell that belongs to the object.
        """

    def describe_whole(self, images: Images) -> Descriptors:
        """Descriptors (n, n_whole) of whole images (n, WHOLE_SIZE, WHOLE_SIZE, 3)."""


class PretrainedFeatures:
    """Activations of some layers of a frozen network that was trained on ImageNet, averaged over a mask."""

    size = 128
    alignment_weight = 0.2

    def __init__(self, backbone: str = "efficientnet-lite0", weights: Path | None = None) -> None:
        self.name, self.weights = backbone, weights
        self.layers, self.whole_layers = LAYERS[backbone], WHOLE_LAYERS[backbone]
        self.widths: tuple[int, ...] = (80, 112, 1280)
        self.whole_widths: tuple[int, ...] = (320, 1280)
        if backbone != "efficientnet-lite0":
            self.widths, self.whole_widths = self._widths(self.layers), self._widths(self.whole_layers)

    @cached_property
    def net(self) -> InferenceNet:
        """The network, loaded on first use."""
        return InferenceNet(self.name, self.weights)

    def _widths(self, layers: tuple[str, ...]) -> tuple[int, ...]:
        found = self.maps(np.zeros((1, self.size, self.size, 3), np.uint8), layers)
        return tuple(layer.shape[-1] for layer in found)

    def describe(self, images: Images, masks: Descriptors) -> Descriptors:
        """Descriptors (n, n_features) of objects in images (n, size, size, 3)."""
        found = [np.zeros((0, sum(self.widths)), np.float32)]
        for i in range(0, len(images), BATCH):
            maps, some = self.maps(images[i : i + BATCH]), masks[i : i + BATCH]
            parts = [
                np.einsum("nrc,nrcd->nd", mask_weights(some, layer.shape[1]), layer, optimize=True)
                for layer in maps
            ]
            found.append(np.concatenate(parts, axis=1))
        return np.concatenate(found)

    def describe_whole(self, images: Images) -> Descriptors:
        """Descriptors (n, n_whole) of whole images (n, WHOLE_SIZE, WHOLE_SIZE, 3)."""
        found = [np.zeros((0, sum(self.whole_widths)), np.float32)]
        for i in range(0, len(images), BATCH):
            maps = self.maps(images[i : i + BATCH], self.whole_layers)
            found.append(np.concatenate([layer.mean(axis=(1, 2)) for layer in maps], axis=1))
        return np.concatenate(found)

    def maps(self, images: Images, layers: tuple[str, ...] | None = None) -> list[Descriptors]:
        """The activations (n, rows, columns, width) of layers; 32 must divide the sides of the images."""
        return self.net.maps(images, layers or self.layers)


def mask_weights(masks: Descriptors, side: int) -> Descriptors:
    """Weights (n, side, side) of the cells of a map, with sum 1, from masks (n, GRID, GRID).

    A cell that belongs to the object in part counts by the square of that part.

    Example:
        >>> mask_weights(np.ones((1, GRID, GRID), np.float32), 2).tolist()
        [[[0.25, 0.25], [0.25, 0.25]]]
    """
    n = GRID // side
    masks = masks.reshape(len(masks), side, n, side, n).mean(axis=(2, 4))
    weights = np.square(masks) + 1e-6
    return np.asarray(weights / weights.sum(axis=(1, 2), keepdims=True), np.float32)


class GradientFeatures:
    """Histograms of gradient directions and mean colours in a grid of cells; needs no trained network.

    Example:
        >>> features = GradientFeatures()
        >>> features.describe(np.zeros((2, 64, 64, 3), np.uint8), np.ones((2, 8, 8), np.float32)).shape
        (2, 704)
    """

    name, size = GRADIENTS, 64
    widths: tuple[int, ...] = (N_CELLS * N_CELLS * (N_ANGLES + 3),)
    whole_widths: tuple[int, ...] = ()
    alignment_weight = 0.5

    def describe(self, images: Images, masks: Descriptors) -> Descriptors:
        """Descriptors (n, n_features) of images (n, size, size, 3); each cell has its own features."""
        colours: Descriptors = np.asarray(images / np.float32(255), np.float32)
        gray = colours.mean(axis=3)
        dx = np.pad(gray[:, :, 2:] - gray[:, :, :-2], ((0, 0), (0, 0), (1, 1)))
        dy = np.pad(gray[:, 2:] - gray[:, :-2], ((0, 0), (1, 1), (0, 0)))
        angle = np.arctan2(dy, dx) * np.float32(N_ANGLES / (2 * np.pi))
        directions = np.arange(N_ANGLES, dtype=np.float32)
        distance = (angle[..., None] - directions + N_ANGLES / 2) % N_ANGLES - N_ANGLES / 2
        weights = (1 - np.abs(distance)).clip(min=0).astype(np.float32)
        votes = weights * np.hypot(dx, dy)[..., None]
        histograms = _unit(np.sqrt(self._cell_means(np.asarray(votes, np.float32))))
        means = _unit(self._cell_means(np.asarray(colours - 0.5, np.float32)))
        return np.concatenate([histograms, COLOUR_WEIGHT * means], axis=1)

    def _cell_means(self, maps: Descriptors) -> Descriptors:
        """Means (n, channels * cells) of maps (n, size, size, channels)."""
        n, cell = len(maps), self.size // N_CELLS
        means = maps.reshape(n, N_CELLS, cell, N_CELLS, cell, -1).mean(axis=(2, 4))
        return means.transpose(0, 3, 1, 2).reshape(n, -1)

    def describe_whole(self, images: Images) -> Descriptors:
        """No features: a grid of cells depends on the position of the object."""
        return np.zeros((len(images), 0), np.float32)


def _unit(vectors: Descriptors) -> Descriptors:
    """Vectors (n, width) scaled to length 1, except zero vectors."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))


def make_features(name: str = AUTO, weights: Path | None = None) -> Features:
    """Features by name; "auto" takes pretrained ones where their weights are found, else gradients.

    Args:
        name: "auto", "gradients", or a backbone; those that are not ImageNet networks need torch and weights.
        weights: a .safetensors file; for "auto", of the backbone that it names, or of a vision transformer.
    """
    if weights is not None:
        return _with_weights(name, weights)
    if name == AUTO:
        try:
            published("efficientnet-lite0").find()
        except BadInput:
            return GradientFeatures()
        return PretrainedFeatures()
    if name == GRADIENTS:
        return GradientFeatures()
    if name not in LAYERS:
        raise unknown("features", name, [AUTO, GRADIENTS, *LAYERS])
    return PretrainedFeatures(name)


def _with_weights(name: str, weights: Path) -> Features:
    if name == GRADIENTS:
        raise BadInput("gradients have no weights; leave --weights out, or name a backbone")
    if name in LAYERS:
        return PretrainedFeatures(name, weights)
    from everlearn.recognition.backbone_features import BackboneFeatures

    return BackboneFeatures.load(None if name == AUTO else name, weights)
