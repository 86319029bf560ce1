"""Descriptors of images: vectors whose dot products compare what is seen, not its pixels."""

from functools import cached_property
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.errors import BadInput, unknown
from everlearn.networks import make_backbone, to_tensor
from everlearn.networks.imagenet import EfficientNetLite0, ImageNetBackbone
from everlearn.networks.weights import IMAGENET, load_backbone
from everlearn.streams.stream import Images

Descriptors = npt.NDArray[np.float32]

BATCH = 16
"""Images described together: more do not fit into the processor's cache."""
LAYERS = {
    "efficientnet-lite0": ("block11", "block16", "top"),
    "mobilenet-v1": ("conv5_2", "conv5_6", "conv6"),
    "mobilenet-v1-0.25": ("conv5_2", "conv5_6", "conv6"),
}
"""Layers whose means over positions form a descriptor: details, parts and whole things."""
AUTO = "auto"
GRADIENTS = "gradients"
N_ANGLES, N_CELLS = 8, 8
"""Orientations and cells per side of gradient histograms."""


class Features(Protocol):
    """What a memory needs to compare images.

    Attributes:
        name: stored with the memory, so that it is opened with the same features.
        size: pixels per side of the images.
        n_features: length of a descriptor.
        alignment_weight: weight of alignment beside the similarity of descriptors.
    """

    name: str
    size: int
    n_features: int
    alignment_weight: float

    def describe(self, images: Images) -> Descriptors:
        """Unit vectors (n, n_features) of images (n, size, size, 3)."""


class PretrainedFeatures:
    """Mean activations of some layers of a frozen network that was trained on ImageNet.

    The activations of each layer are a unit vector of their own, so that each counts the same.
    """

    size = 128
    alignment_weight = 0.2

    def __init__(self, backbone: str = "efficientnet-lite0", weights: str = IMAGENET) -> None:
        self.name, self.weights, self.layers = backbone, weights, LAYERS[backbone]
        widths = {"block11": 112, "block16": 320, "top": 1280}
        if backbone != "efficientnet-lite0":
            widths = {name: self.net.n_features // (2 if name == "conv5_2" else 1) for name in self.layers}
        self.n_features = sum(widths[name] for name in self.layers)

    @cached_property
    def net(self) -> ImageNetBackbone:
        """The network, loaded on first use."""
        net = cast(ImageNetBackbone, make_backbone(self.name, (self.size, self.size, 3), 0))
        load_backbone(net, self.weights)
        return net.eval().requires_grad_(False)

    @torch.inference_mode()
    def describe(self, images: Images) -> Descriptors:
        """Unit vectors (n, n_features) of images (n, size, size, 3)."""
        parts = [self._describe(to_tensor(images[i : i + BATCH])) for i in range(0, len(images), BATCH)]
        return torch.cat(parts).numpy() if parts else np.zeros((0, self.n_features), np.float32)

    def _describe(self, maps: Tensor) -> Tensor:
        found = []
        for name, layer in self.net.named_children():
            maps = layer(maps)
            if name in self.layers:
                found.append(functional.normalize(maps.mean(dim=(2, 3)), dim=1))
        return functional.normalize(torch.cat(found, dim=1), dim=1)

    @torch.inference_mode()
    def describe_windows(self, image: Images, sides: tuple[int, ...]) -> Descriptors:
        """Descriptors (n, n_features) of all square windows of an image (H, W, 3).

        The layers are computed once; the means are taken over windows of the maps, `sides` cells wide.
        """
        maps, found = to_tensor(image[None]), []
        for name, layer in self.net.named_children():
            maps = layer(maps)
            if name in self.layers:
                found.append(maps)
        rows, columns = found[-1].shape[2:]
        vectors = []
        for side in (side for side in sides if side <= min(rows, columns)):
            parts = []
            for each in found:
                cells = each.shape[2] // rows
                pooled = functional.avg_pool2d(
                    each, (cells * side, each.shape[3] // columns * side), (cells, cells)
                )
                parts.append(functional.normalize(pooled[0].flatten(1).T, dim=1))
            vectors.append(functional.normalize(torch.cat(parts, dim=1), dim=1))
        return torch.cat(vectors).numpy()


class GradientFeatures:
    """Histograms of gradient directions and mean colours in a grid of cells; needs no trained network.

    Example:
        >>> features = GradientFeatures()
        >>> features.describe(np.zeros((2, 64, 64, 3), np.uint8)).shape
        (2, 704)
    """

    name, size = GRADIENTS, 64
    n_features = N_CELLS * N_CELLS * (N_ANGLES + 3)
    alignment_weight = 0.5

    def describe(self, images: Images) -> Descriptors:
        """Unit vectors (n, n_features) of images (n, size, size, 3)."""
        colours = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float() / 255
        gray = colours.mean(dim=1)
        dx = functional.pad(gray[:, :, 2:] - gray[:, :, :-2], (1, 1))
        dy = functional.pad(gray[:, 2:] - gray[:, :-2], (0, 0, 1, 1))
        angle = torch.atan2(dy, dx) * (N_ANGLES / (2 * torch.pi))
        directions = torch.arange(N_ANGLES).reshape(1, -1, 1, 1)
        distance = (angle[:, None] - directions + N_ANGLES / 2) % N_ANGLES - N_ANGLES / 2
        votes = (1 - distance.abs()).clamp(min=0) * torch.hypot(dx, dy)[:, None]
        cell = self.size // N_CELLS
        histograms = functional.normalize(functional.avg_pool2d(votes, cell).flatten(1).sqrt(), dim=1)
        means = functional.avg_pool2d(colours - 0.5, cell).flatten(1)
        return functional.normalize(
            torch.cat([histograms, 0.7 * functional.normalize(means, dim=1)], 1), dim=1
        ).numpy()


def make_features(name: str = AUTO) -> Features:
    """Features by name; "auto" takes pretrained ones where their weights are found, else gradients."""
    if name == AUTO:
        try:
            EfficientNetLite0.find_weights()
        except BadInput:
            return GradientFeatures()
        return PretrainedFeatures()
    if name == GRADIENTS:
        return GradientFeatures()
    if name not in LAYERS:
        raise unknown("features", name, [AUTO, GRADIENTS, *LAYERS])
    return PretrainedFeatures(name)
