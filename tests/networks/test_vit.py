import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.networks import seeded
from everlearn.networks.vit import ViT

BLOCK = {
    "norm1.weight": (192,),
    "norm1.bias": (192,),
    "attn.qkv.weight": (576, 192),
    "attn.qkv.bias": (576,),
    "attn.proj.weight": (192, 192),
    "attn.proj.bias": (192,),
    "norm2.weight": (192,),
    "norm2.bias": (192,),
    "mlp.fc1.weight": (768, 192),
    "mlp.fc1.bias": (768,),
    "mlp.fc2.weight": (192, 768),
    "mlp.fc2.bias": (192,),
}
TIMM_TINY = {
    "cls_token": (1, 1, 192),
    "pos_embed": (1, 197, 192),
    "patch_embed.proj.weight": (192, 3, 16, 16),
    "patch_embed.proj.bias": (192,),
    **{f"blocks.{i}.{name}": shape for i in range(12) for name, shape in BLOCK.items()},
    "norm.weight": (192,),
    "norm.bias": (192,),
    "head.weight": (1000, 192),
    "head.bias": (1000,),
}
"""Names and shapes of vit_tiny_patch16_224, read off timm's own timm/models/vision_transformer.py."""


def tiny() -> ViT:
    sizes = {"image_size": 224, "patch_size": 16, "n_channels": 3}
    return ViT(**sizes, n_features=192, depth=12, n_classes=1000)


def test_names_and_shapes_are_those_of_timm() -> None:
    ours = {name: tuple(tensor.shape) for name, tensor in tiny().state_dict().items()}
    assert ours == TIMM_TINY
    assert sum(np.prod(shape) for shape in ours.values()) == 5_717_416  # as published for this network


def test_block_by_hand() -> None:
    """Written out by hand: softmax(q k / sqrt(d)) v for each of two heads."""
    with seeded(0):
        block, tokens = ViT(image_size=16, patch_size=8, depth=1).blocks[0], torch.randn(2, 5, 128)
    w = block.state_dict()
    x = functional.layer_norm(tokens, (128,), w["norm1.weight"], w["norm1.bias"], 1e-6)
    q, k, v = (x @ w["attn.qkv.weight"].T + w["attn.qkv.bias"]).split(128, dim=2)
    heads = []
    for part in (slice(0, 64), slice(64, 128)):
        weights = torch.softmax(q[..., part] @ k[..., part].transpose(1, 2) / 8, dim=2)
        heads.append(weights @ v[..., part])
    x = tokens + torch.cat(heads, 2) @ w["attn.proj.weight"].T + w["attn.proj.bias"]
    y = functional.layer_norm(x, (128,), w["norm2.weight"], w["norm2.bias"], 1e-6)
    y = functional.gelu(y @ w["mlp.fc1.weight"].T + w["mlp.fc1.bias"])
    expected = x + y @ w["mlp.fc2.weight"].T + w["mlp.fc2.bias"]
    torch.testing.assert_close(block(tokens), expected, rtol=1e-4, atol=1e-5)


def test_order_of_patches() -> None:
    net = ViT(image_size=16, patch_size=8, depth=1)
    image = torch.zeros(1, 1, 16, 16)
    image[..., :8, 8:] = 1  # the second of four
    with torch.no_grad():
        change = (net.tokens(image) - net.tokens(torch.zeros_like(image))).abs().sum(2)[0]
    assert (change > 1e-6).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("n_channels", "shape"), [(1, (64, 64, 3)), (3, (64, 64)), (3, (20, 28, 3)), (1, (32, 32))]
)
def test_preprocess(n_channels: int, shape: tuple[int, ...]) -> None:
    net = ViT(image_size=32, n_channels=n_channels)
    for level, value in ((0, -1.0), (255, 1.0)):
        seen = net.preprocess(np.full((2, *shape), level, np.uint8))
        assert seen.shape == (2, n_channels, 32, 32)
        torch.testing.assert_close(seen, torch.full_like(seen, value))
    assert len(net.preprocess(np.zeros((0, *shape), np.uint8))) == 0


def test_gray_levels_of_colors() -> None:
    green = np.zeros((1, 32, 32, 3), np.uint8)
    green[..., 1] = 255
    torch.testing.assert_close(ViT(n_channels=1).preprocess(green)[0, 0, 0, 0], torch.tensor(2 * 0.587 - 1))
