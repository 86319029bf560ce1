"""Pretrained weights: load them from a file or the Hugging Face hub, and save them; files never run code."""

import json
import math
import re
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from everlearn import files
from everlearn.errors import BadInput
from everlearn.networks.imagenet_backbone import ImageNetBackbone
from everlearn.networks.published_weights import PUBLISHED, published, read_arrays
from everlearn.networks.vit import HEAD_WIDTH, ViT

HUB = "hub:"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
HUB_FILE = "model.safetensors"
IMAGENET = "imagenet"
CLASSIFIER = re.compile(r"(fc|head|classifier)\.(weight|bias)")
"""Names of the classifier in files of torchvision and timm."""
PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
MAX_FEATURES, MAX_DEPTH, MAX_SIZE = 4096, 100, 1024

Weights = dict[str, Tensor]


def load_vit(weights: str) -> ViT:
    """A vision transformer from a .safetensors file with timm's names, or hub:OWNER/NAME to download one."""
    path = _download(weights.removeprefix(HUB)) if weights.startswith(HUB) else _check(Path(weights))
    tensors = _read(path)
    net = _make_vit(tensors, path)
    if difference := _difference(net, tensors):
        raise _not_a_vit(path, difference)
    net.load_state_dict(tensors, strict=True)
    return net


def load_backbone(net: nn.Module, weights: str) -> None:
    """Load the weights of a backbone: a .safetensors file, or "imagenet" for those of an ImageNet backbone.

    The file is one that `save_weights` wrote, or has the published names; weights of a classifier are
    ignored.
    """
    tensors, path = _read_backbone(net, weights)
    if difference := _difference(net, tensors):
        raise BadInput(
            f"{str(path)!r} has the weights of another network ({difference}); give those of this backbone, "
            "trained on images of the same shape, or make some with `everlearn pretrain`"
        )
    net.load_state_dict(tensors, strict=True)


def _read_backbone(net: nn.Module, weights: str) -> tuple[Weights, Path]:
    """The weights under the names of the network, and their file."""
    if not isinstance(net, ImageNetBackbone):
        if weights == IMAGENET:
            raise BadInput(f"this backbone has no ImageNet weights; choose one of {', '.join(PUBLISHED)}")
        path, names = _check(Path(weights)), net.state_dict().keys()
        tensors = _read(path).items()
        return {name: tensor for name, tensor in tensors if name in names or not CLASSIFIER.match(name)}, path
    source = published(net.published_name)
    path = source.find() if weights == IMAGENET else _check(Path(weights))
    arrays = source.convert(read_arrays(path))
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, path


def save_weights(
    net: nn.Module, path: Path, *, backbone: str | None = None, image_shape: tuple[int, ...] | None = None
) -> None:
    """Write weights to a .safetensors file, atomically, with the arguments that rebuild the network."""
    if path.suffix != ".safetensors":
        raise BadInput(f"cannot write weights to {str(path)!r}; give a name that ends in .safetensors")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    metadata = None
    if backbone is not None and image_shape is not None:
        metadata = {"backbone": backbone, "image_shape": json.dumps(image_shape)}
    files.write(path, safetensors.torch.save(tensors, metadata))


def _difference(net: nn.Module, tensors: Weights) -> str | None:
    """The first name whose shape differs between network and file; None if there is none."""
    ours = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    theirs = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    different = (name for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name))
    return next((f"{name} is {theirs.get(name)} and must be {ours.get(name)}" for name in different), None)


def _check(path: Path) -> Path:
    if path.suffix in PICKLED:
        raise BadInput(
            f"{str(path)!r} could run code when it is loaded; if you trust it, convert it once with "
            "safetensors.torch.save_file(torch.load(path, weights_only=True), 'weights.safetensors')"
        )
    if "\0" in str(path) or not path.is_file():
        raise BadInput(
            f"there are no weights {str(path)!r:.200}; give a .safetensors file or hub:OWNER/NAME, or make "
            "some with `everlearn pretrain`"
        )
    return path


def _download(name: str) -> Path:
    """The file of a model on the hub, from the cache if it is there."""
    if not HUB_NAME.fullmatch(name):
        raise BadInput(f"{name!r:.200} is not a name on the hub; write hub:OWNER/NAME")
    try:
        import huggingface_hub
    except ImportError:
        raise BadInput("downloads need huggingface_hub; install everlearn[hub]") from None
    try:
        return Path(huggingface_hub.hf_hub_download(name, HUB_FILE))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{name} cannot be downloaded from the hub ({type(error).__name__}); check name and network, or "
            "give the path of a file"
        ) from None


def _read(path: Path) -> Weights:
    try:
        tensors: Weights = safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError):
        raise BadInput(f"{str(path)!r} is not a safetensors file, or it is damaged; use a copy") from None
    return {name: tensor.float() for name, tensor in tensors.items()}


def _make_vit(tensors: Weights, path: Path) -> ViT:
    """An untrained transformer of the size of the weights."""
    try:
        n_features, n_channels, patch_size, _ = tensors["patch_embed.proj.weight"].shape
        n_patches = tensors["pos_embed"].shape[1] - 1
        n_hidden = tensors["blocks.0.mlp.fc1.weight"].shape[0]
    except (KeyError, ValueError, IndexError):
        raise _not_a_vit(path, "it lacks patches, positions or blocks") from None
    depth = len({name.split(".")[1] for name in tensors if name.startswith("blocks.")})
    image_size = patch_size * math.isqrt(max(0, n_patches))
    is_known = n_channels in (1, 3) and n_features % HEAD_WIDTH == 0 and n_features <= MAX_FEATURES
    if not is_known or not 0 < image_size <= MAX_SIZE or depth > MAX_DEPTH or n_hidden > 16 * n_features:
        raise _not_a_vit(path, f"{n_features} features of {n_channels} channels, {n_patches} patches")
    sizes = {"image_size": image_size, "patch_size": patch_size, "n_channels": n_channels, "depth": depth}
    n_classes = len(tensors.get("head.weight", ()))
    return ViT(**sizes, n_features=n_features, n_hidden=n_hidden, n_classes=n_classes)


def _not_a_vit(path: Path, reason: str) -> BadInput:
    return BadInput(
        f"{str(path)!r} is not a plain vision transformer ({reason}); give one such as timm's "
        "vit_tiny_patch16_224"
    )
