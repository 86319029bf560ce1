"""Activations of ImageNet networks without torch: numpy's matrix products and compiled convolutions.

Torch takes longer to import than a first answer may take, and one image at a time is slower with it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.networks.published_weights import (
    EPSILON,
    LITE0_STAGES,
    MOBILENET_LAYERS,
    Arrays,
    published,
    read_arrays,
)
from everlearn.shapes.jit import compiled
from everlearn.streams.stream import Images

Maps = npt.NDArray[np.float32]
"""Activations (n, rows, columns, channels), or weights."""

ZERO, SIX = np.float32(0), np.float32(6)


@dataclass(frozen=True, eq=False)
class Convolution:
    """Weights of a convolution with its normalization: (n_in, n_out), or (k, k, n) of single channels."""

    weights: Maps
    bias: Maps

    @classmethod
    def of(cls, tensors: Arrays, conv: str, norm: str, axes: tuple[int, ...]) -> "Convolution":
        """Multiply a batch normalization into the convolution before it.

        Args:
            tensors: of the network.
            conv: name of the convolution; its weights are (n_out, n_in, k, k).
            norm: name of the normalization.
            axes: of the weights in the order in which they are stored.
        """
        scale = tensors[f"{norm}.weight"] / np.sqrt(tensors[f"{norm}.running_var"] + np.float32(EPSILON))
        weights = (tensors[f"{conv}.weight"] * scale[:, None, None, None]).transpose(axes)
        bias = tensors[f"{norm}.bias"] - tensors[f"{norm}.running_mean"] * scale
        return cls(np.ascontiguousarray(weights), bias)

    @classmethod
    def pointwise(cls, tensors: Arrays, name: str) -> "Convolution":
        """A 1x1 convolution."""
        found = cls.of(tensors, f"{name}.0", f"{name}.1", (2, 3, 1, 0))
        return cls(found.weights[0, 0], found.bias)

    @classmethod
    def depthwise(cls, tensors: Arrays, name: str) -> "Convolution":
        """A convolution of each channel."""
        found = cls.of(tensors, f"{name}.0", f"{name}.1", (1, 2, 3, 0))
        return cls(found.weights[0], found.bias)


@dataclass(frozen=True, eq=False)
class Block:
    """Expand, convolve each channel, project."""

    name: str
    expand: Convolution | None
    depthwise: Convolution
    project: Convolution
    stride: int
    has_activation: bool  # after the projection
    has_shortcut: bool


class InferenceNet:
    """An ImageNet network with frozen weights whose activations are computed on one core.

    Args:
        name: "efficientnet-lite0", "mobilenet-v1" or "mobilenet-v1-0.25".
        path: of its weights; None for the published ones.
    """

    def __init__(self, name: str, path: Path | None = None) -> None:
        source = published(name)
        tensors = source.convert(read_arrays(path or source.find()))
        try:
            self._build(tensors, is_lite0=name == "efficientnet-lite0")
        except (KeyError, ValueError, IndexError):
            raise BadInput(
                f"{str(path or source.find())!r} has the weights of another network; give those of {name}"
            ) from None
        self._buffers: dict[str, Maps] = {}

    def _build(self, tensors: Arrays, *, is_lite0: bool) -> None:
        first = "stem" if is_lite0 else "conv1"
        stem = Convolution.of(tensors, f"{first}.1.0", f"{first}.1.1", (2, 3, 1, 0))
        self._stem = Convolution(stem.weights.reshape(27, -1), stem.bias)
        if is_lite0:
            self._mean, self._std = np.float32(127), np.float32(128)
            self._blocks = _lite0_blocks(tensors)
            self._top: Convolution | None = Convolution.pointwise(tensors, "top")
        else:
            self._mean = self._std = np.float32(127.5)
            self._blocks, self._top = _mobilenet_blocks(tensors), None

    def maps(self, images: Images, layers: tuple[str, ...]) -> list[Maps]:
        """The activations (n, rows, columns, channels) of named layers, in the order of the network.

        Args:
            images: (n, H, W, 3) of 0 to 255.
            layers: names of blocks, or "top".
        """
        maps, found = self._first(images), []
        for block in self._blocks:
            maps = self._apply(block, maps)
            if block.name in layers:
                found.append(maps)
        if self._top is not None and "top" in layers:
            top = maps.reshape(-1, maps.shape[-1]) @ self._top.weights
            relu6(top, self._top.bias)
            found.append(top.reshape(*maps.shape[:3], -1))
        return found

    def _first(self, images: Images) -> Maps:
        """The first convolution, of stride 2."""
        n, rows, columns = len(images), -(-images.shape[1] // 2), -(-images.shape[2] // 2)
        patches = self._buffer("patches", (n, rows, columns, 27))
        patches_of(np.ascontiguousarray(images), self._mean, self._std, patches)
        flat = np.empty((n * rows * columns, self._stem.weights.shape[1]), np.float32)
        np.matmul(patches.reshape(-1, 27), self._stem.weights, out=flat)
        relu6(flat, self._stem.bias)
        return flat.reshape(n, rows, columns, -1)

    def _apply(self, block: Block, maps: Maps) -> Maps:
        n, rows, columns, width = maps.shape
        hidden = maps
        if block.expand is not None:
            flat = self._buffer("expanded", (n * rows * columns, block.expand.weights.shape[1]))
            np.matmul(maps.reshape(-1, width), block.expand.weights, out=flat)
            relu6(flat, block.expand.bias)
            hidden = flat.reshape(n, rows, columns, -1)
        rows, columns = -(-rows // block.stride), -(-columns // block.stride)
        filtered = self._buffer("filtered", (n, rows, columns, hidden.shape[-1]))
        depthwise(hidden, block.depthwise.weights, block.depthwise.bias, block.stride, filtered)
        projected = filtered.reshape(-1, hidden.shape[-1]) @ block.project.weights
        if block.has_activation:
            relu6(projected, block.project.bias)
        else:
            projected += block.project.bias
        result = projected.reshape(n, rows, columns, -1)
        if block.has_shortcut:
            result += maps
        return result

    def _buffer(self, name: str, shape: tuple[int, ...]) -> Maps:
        """Memory that is reused: allocating new pages would take longer than the computation."""
        size = int(np.prod(shape))
        if name not in self._buffers or len(self._buffers[name]) < size:
            self._buffers[name] = np.empty(size, np.float32)
        return self._buffers[name][:size].reshape(shape)


def _lite0_blocks(tensors: Arrays) -> list[Block]:
    blocks: list[Block] = []
    n_in = 32
    for n_blocks, _, first_stride, expansion, width in LITE0_STAGES:
        for number in range(n_blocks):
            name, stride = f"block{len(blocks) + 1}", 1 if number else first_stride
            blocks.append(
                Block(
                    name=name,
                    expand=None if expansion == 1 else Convolution.pointwise(tensors, f"{name}.expand"),
                    depthwise=Convolution.depthwise(tensors, f"{name}.depthwise"),
                    project=Convolution.pointwise(tensors, f"{name}.project"),
                    stride=stride,
                    has_activation=False,
                    has_shortcut=stride == 1 and n_in == width,
                )
            )
            n_in = width
    return blocks


def _mobilenet_blocks(tensors: Arrays) -> list[Block]:
    return [
        Block(
            name=name,
            expand=None,
            depthwise=Convolution.depthwise(tensors, f"{name}.0"),
            project=Convolution.pointwise(tensors, f"{name}.1"),
            stride=stride,
            has_activation=True,
            has_shortcut=False,
        )
        for name, _, stride in MOBILENET_LAYERS
    ]


@compiled
def patches_of(images: Images, mean: np.float32, std: np.float32, out: Maps) -> None:
    """Write the normalized 3x3 patches (n, rows, columns, 27) of images (n, H, W, 3), at every other pixel.

    Padding is TensorFlow's SAME: zeros, an odd one at the end.
    """
    n, height, width, _ = images.shape
    _, rows, columns, _ = out.shape
    top, left = max(2 * rows + 1 - height, 0) // 2, max(2 * columns + 1 - width, 0) // 2
    for m in range(n):
        for i in range(rows):
            for j in range(columns):
                place = 0
                for a in range(3):
                    for b in range(3):
                        y, x = 2 * i + a - top, 2 * j + b - left
                        is_inside = 0 <= y < height and 0 <= x < width
                        for c in range(3):
                            level = np.float32(images[m, y, x, c]) if is_inside else mean
                            out[m, i, j, place] = (level - mean) / std
                            place += 1


@compiled
def depthwise(maps: Maps, weights: Maps, bias: Maps, stride: int, out: Maps) -> None:
    """Convolve each channel of maps (n, H, W, C) with its filter of (k, k, C), and apply ReLU6."""
    n, height, width, n_channels = maps.shape
    kernel = len(weights)
    _, rows, columns, _ = out.shape
    top = max((rows - 1) * stride + kernel - height, 0) // 2
    left = max((columns - 1) * stride + kernel - width, 0) // 2
    for m in range(n):
        for i in range(rows):
            for j in range(columns):
                sums = out[m, i, j]
                for c in range(n_channels):
                    sums[c] = bias[c]
                for a in range(kernel):
                    y = i * stride + a - top
                    if y < 0 or y >= height:
                        continue
                    for b in range(kernel):
                        x = j * stride + b - left
                        if x < 0 or x >= width:
                            continue
                        values, factors = maps[m, y, x], weights[a, b]
                        for c in range(n_channels):
                            sums[c] += values[c] * factors[c]
                for c in range(n_channels):
                    sums[c] = min(max(sums[c], ZERO), SIX)


@compiled
def relu6(maps: Maps, bias: Maps) -> None:
    """Add a bias to maps (n, C) and limit them to 0 to 6, in place."""
    for i in range(maps.shape[0]):
        for c in range(maps.shape[1]):
            maps[i, c] = min(max(maps[i, c] + bias[c], ZERO), SIX)
