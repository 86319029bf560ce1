"""Features of any backbone with weights from a file; needs torch."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors

from everlearn.errors import BadInput, check_range
from everlearn.recognition.features import GRID, Descriptors
from everlearn.streams.images.compose import LUMINANCE
from everlearn.streams.stream import Images

if TYPE_CHECKING:
    from torch import Tensor, nn

VIT, VIT_SIZE = "vit", 128
"""The backbone whose weight files have timm's names, and the size of its input, which it resizes."""
MAX_SIZE = 512


class BackboneFeatures:
    """The output of a backbone for an object on a plain background.

    Unlike the layers of an ImageNet network, it is not averaged over a mask, so objects in front of patterns
    are found by templates and alignment alone.

    Args:
        backbone: its name, import string or file; "vit" for a file with timm's names.
        weights: a .safetensors file.
        image_shape: (size, size) or (size, size, 3) of the images that the backbone was made for.
    """

    whole_widths: tuple[int, ...] = ()
    alignment_weight = 0.1

    def __init__(self, backbone: str, weights: Path, image_shape: tuple[int, ...]) -> None:
        from everlearn.networks.weights import load_backbone, load_vit

        self.name, self.size, self._is_gray = backbone, image_shape[0], len(image_shape) == 2
        self._net: nn.Module
        if backbone == VIT:
            self._net = load_vit(str(weights))
        else:
            from everlearn.networks.backbones import make_backbone

            self._net = make_backbone(backbone, image_shape, 0)
            load_backbone(self._net, str(weights))
        self._net.eval()
        self.widths: tuple[int, ...] = (int(self._net.n_features),)

    @classmethod
    def load(cls, backbone: str | None, weights: Path) -> "BackboneFeatures":
        """Load weights into a backbone; default: the one that the file names, else a vision transformer."""
        found = description(weights)
        if backbone is None and found is None:
            return cls(VIT, weights, (VIT_SIZE, VIT_SIZE, 3))
        name, image_shape = found or (str(backbone), (VIT_SIZE, VIT_SIZE, 3))
        return cls(backbone or name, weights, image_shape)

    def describe(self, images: Images, masks: Descriptors) -> Descriptors:
        """Descriptors (n, n_features) of images (n, size, size, 3); the background is plain already."""
        from everlearn.networks.tensors import map_batches

        shown = np.rint(images @ np.array(LUMINANCE)).astype(np.uint8) if self._is_gray else images
        return np.asarray(map_batches(self._features, shown).numpy(), np.float32)

    def describe_whole(self, images: Images) -> Descriptors:
        """No features: templates find objects in front of a pattern."""
        return np.zeros((len(images), 0), np.float32)

    def _features(self, images: Images) -> "Tensor":
        from everlearn.networks.tensors import to_tensor

        net: Any = self._net
        found: Tensor = net(net.preprocess(images) if self.name == VIT else to_tensor(images))
        return found


def description(weights: Path) -> tuple[str, tuple[int, ...]] | None:
    """The backbone and the image shape that a file of `save_weights` contains; None if it has none."""
    try:
        with safetensors.safe_open(weights, framework="np") as file:
            found = file.metadata() or {}
        if "backbone" not in found:
            return None
        image_shape = tuple(int(side) for side in json.loads(found["image_shape"]))
    except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError):
        raise BadInput(
            f"{str(weights)!r:.200} is no .safetensors file of weights; give one, "
            "such as `everlearn pretrain` writes"
        ) from None
    if len(image_shape) not in (2, 3) or len(set(image_shape[:2])) > 1 or image_shape[0] % GRID:
        raise BadInput(
            f"{str(weights)!r:.200} has weights for images of shape {image_shape}; give weights "
            f"for square images whose side is a multiple of {GRID}"
        )
    check_range("image size", image_shape[0], GRID, MAX_SIZE)
    return found["backbone"], image_shape
