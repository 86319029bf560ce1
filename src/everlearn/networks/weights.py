"""Weights from a file or the hub, and back; nothing in a file is ever run."""

import math
import re
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor, nn

from everlearn import files
from everlearn.errors import BadInput
from everlearn.networks.vit import HEAD_WIDTH, ViT

HUB = "hub:"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
HUB_FILE = "model.safetensors"
PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
MAX_FEATURES, MAX_DEPTH, MAX_SIZE = 4096, 100, 1024

Weights = dict[str, Tensor]


def open_vit(weights: str) -> ViT:
    """The vision transformer that a file describes, as large as its weights say.

    Args:
        weights: a .safetensors file with timm's names, or hub:OWNER/NAME for one that is fetched.
    """
    path = _fetched(weights.removeprefix(HUB)) if weights.startswith(HUB) else _checked(Path(weights))
    found = _read(path)
    net = _fitting(found, path)
    if difference := _difference(net, found):
        raise _other(path, difference)
    net.load_state_dict(found, strict=True)
    return net


def start_from(net: nn.Module, weights: str) -> None:
    """Give a backbone the weights in a file, which must be those of another like it.

    Args:
        net: the backbone.
        weights: a .safetensors file that `save` wrote.
    """
    path = _checked(Path(weights))
    found = _read(path)
    if difference := _difference(net, found):
        raise BadInput(
            f"{str(path)!r} holds weights of another network ({difference}); give those of this backbone, "
            "trained on images of the same shape, or make some with `everlearn pretrain`"
        )
    net.load_state_dict(found, strict=True)


def save(net: nn.Module, path: Path) -> None:
    """Write the weights to one .safetensors file, whole or not at all."""
    if path.suffix != ".safetensors":
        raise BadInput(f"cannot write weights to {str(path)!r}; give a name that ends in .safetensors")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    files.write(path, safetensors.torch.save(tensors))


def _difference(net: nn.Module, found: Weights) -> str | None:
    """The first name whose shape is not what the network has; None if all are."""
    ours = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    theirs = {name: tuple(tensor.shape) for name, tensor in found.items()}
    different = (name for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name))
    return next((f"{name} is {theirs.get(name)} and must be {ours.get(name)}" for name in different), None)


def _checked(path: Path) -> Path:
    if path.suffix in PICKLED:
        raise BadInput(
            f"{str(path)!r} may run code when it is opened, so it is not; if you trust it, convert it once "
            "with safetensors.torch.save_file(torch.load(path, weights_only=True), 'weights.safetensors')"
        )
    if "\0" in str(path) or not path.is_file():
        raise BadInput(
            f"there are no weights {str(path)!r:.200}; give a .safetensors file or hub:OWNER/NAME, or make "
            "some with `everlearn pretrain`"
        )
    return path


def _fetched(name: str) -> Path:
    """The file of a model on the hub, fetched unless it was before."""
    if not HUB_NAME.fullmatch(name):
        raise BadInput(f"{name!r:.200} is no name on the hub; write hub:OWNER/NAME")
    try:
        import huggingface_hub
    except ImportError:
        raise BadInput(
            "models are fetched by huggingface_hub, which is not installed; try everlearn[hub]"
        ) from None
    try:
        return Path(huggingface_hub.hf_hub_download(name, HUB_FILE))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{name} cannot be fetched from the hub ({type(error).__name__}); check name and network, or "
            "give the path of a file"
        ) from None


def _read(path: Path) -> Weights:
    try:
        tensors: Weights = safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError):
        raise BadInput(f"{str(path)!r} is no safetensors file, or it is damaged; use a copy of it") from None
    return {name: tensor.float() for name, tensor in tensors.items()}


def _fitting(found: Weights, path: Path) -> ViT:
    """An untrained network of the size that the weights speak of."""
    try:
        n_features, n_channels, patch_size, _ = found["patch_embed.proj.weight"].shape
        n_patches = found["pos_embed"].shape[1] - 1
        n_hidden = found["blocks.0.mlp.fc1.weight"].shape[0]
    except (KeyError, ValueError, IndexError):
        raise _other(path, "it lacks patches, positions or blocks") from None
    depth = len({name.split(".")[1] for name in found if name.startswith("blocks.")})
    image_size = patch_size * math.isqrt(max(0, n_patches))
    known = n_channels in (1, 3) and n_features % HEAD_WIDTH == 0 and n_features <= MAX_FEATURES
    if not known or not 0 < image_size <= MAX_SIZE or depth > MAX_DEPTH or n_hidden > 16 * n_features:
        raise _other(path, f"{n_features} features of {n_channels} channels, {n_patches} patches")
    return ViT(
        image_size=image_size,
        patch_size=patch_size,
        n_channels=n_channels,
        n_features=n_features,
        depth=depth,
        n_hidden=n_hidden,
        n_classes=len(found["head.weight"]) if "head.weight" in found else 0,
    )


def _other(path: Path, why: str) -> BadInput:
    return BadInput(
        f"{str(path)!r} is no plain vision transformer ({why}); give one such as timm's vit_tiny_patch16_224"
    )
