"""A vision transformer with the weight names of timm."""

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks.devices import to_device

HEAD_WIDTH = 64
"""Features per attention head, as in all plain vision transformers of timm; files do not contain it."""
LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in a gray level."""


class ViT(nn.Module):
    """A vision transformer; its features are the output of the class token.

    Args:
        image_size: input size in pixels per side; other images are resized.
        patch_size: pixels per side of a patch.
        n_channels: 1 for gray, 3 for color; other images are converted.
        n_features: length of a token, a multiple of 64.
        depth: number of blocks.
        n_hidden: hidden units of each block; default: four times the features.
        n_classes: number of logits of `classify`; 0 for no head.

    Example:
        >>> net = ViT(image_size=32, patch_size=8, depth=2)
        >>> net(net.preprocess(np.zeros((5, 64, 64, 3), np.uint8))).shape
        torch.Size([5, 128])

    Reference: Dosovitskiy et al. 2020, "An image is worth 16x16 words", arXiv:2010.11929.
    """

    def __init__(
        self,
        *,
        image_size: int = 32,
        patch_size: int = 8,
        n_channels: int = 1,
        n_features: int = 128,
        depth: int = 4,
        n_hidden: int | None = None,
        n_classes: int = 0,
    ) -> None:
        super().__init__()
        self.image_size, self.n_channels, self.n_features = image_size, n_channels, n_features
        n_patches = (image_size // patch_size) ** 2
        self.cls_token = nn.Parameter(torch.zeros(1, 1, n_features))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + n_patches, n_features))
        patches = nn.Conv2d(n_channels, n_features, patch_size, patch_size)
        self.patch_embed = nn.Sequential(OrderedDict(proj=patches))
        self.blocks = nn.Sequential(*(_Block(n_features, n_hidden or 4 * n_features) for _ in range(depth)))
        self.norm = nn.LayerNorm(n_features, eps=1e-6)
        self.head: nn.Module = nn.Linear(n_features, n_classes) if n_classes else nn.Identity()
        _initialize(self)

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> features (n, n_features)."""
        return self.encode(self.tokens(images))[:, 0]

    def classify(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> logits (n, n_classes)."""
        return self.head(self(images))

    def tokens(self, images: Tensor) -> Tensor:
        """Class token and patch embeddings with positions, (n, 1 + n_patches, n_features)."""
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        first = self.cls_token.expand(len(patches), -1, -1)
        return torch.cat([first, patches], dim=1) + self.pos_embed

    def encode(self, tokens: Tensor, prefixes: Mapping[int, Tensor] | None = None) -> Tensor:
        """The outputs of the last block for tokens.

        `prefixes` has for some blocks, by number, keys and values (n, 2, length, n_features) that are
        prepended to those of the tokens.
        """
        given = prefixes or {}
        for number, block in enumerate(self.blocks):
            tokens = block(tokens, given.get(number))
        return self.norm(tokens)

    def preprocess(self, images: npt.NDArray[np.uint8]) -> Tensor:
        """Images (n, H, W[, 3]) in the input size and with the channels of the network, from -1 to 1."""
        device = self.cls_token.device
        tensor = to_device(torch.from_numpy(np.ascontiguousarray(images)), device).float() / 127.5 - 1
        tensor = tensor.unsqueeze(1) if tensor.ndim == 3 else tensor.permute(0, 3, 1, 2)
        if tensor.shape[1] > self.n_channels:
            tensor = (tensor * torch.tensor(LUMA, device=device)[:, None, None]).sum(1, keepdim=True)
        tensor = tensor.expand(-1, self.n_channels, -1, -1)
        size = (self.image_size, self.image_size)
        if not len(tensor):
            return tensor.new_zeros(0, self.n_channels, *size)  # interpolate refuses empty batches
        if tensor.shape[2:] == size:
            return tensor
        return functional.interpolate(tensor, size, mode="bilinear", antialias=True)


class _Block(nn.Module):
    def __init__(self, n_features: int, n_hidden: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(n_features, eps=1e-6)
        self.attn = _Attention(n_features)
        self.norm2 = nn.LayerNorm(n_features, eps=1e-6)
        fc1, fc2 = nn.Linear(n_features, n_hidden), nn.Linear(n_hidden, n_features)
        self.mlp = nn.Sequential(OrderedDict(fc1=fc1, gelu=nn.GELU(), fc2=fc2))

    def forward(self, tokens: Tensor, prefix: Tensor | None = None) -> Tensor:
        tokens = tokens + self.attn(self.norm1(tokens), prefix)
        return tokens + self.mlp(self.norm2(tokens))


class _Attention(nn.Module):
    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.n_heads = max(1, n_features // HEAD_WIDTH)
        self.qkv = nn.Linear(n_features, 3 * n_features)
        self.proj = nn.Linear(n_features, n_features)

    def forward(self, tokens: Tensor, prefix: Tensor | None = None) -> Tensor:
        n, m, d = tokens.shape
        parts = self.qkv(tokens).reshape(n, m, 3, self.n_heads, d // self.n_heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # each (n, n_heads, m, d / n_heads)
        if prefix is not None:
            in_heads = prefix.reshape(n, 2, prefix.shape[2], self.n_heads, d // self.n_heads)
            before = in_heads.permute(1, 0, 3, 2, 4)
            keys, values = torch.cat([before[0], keys], 2), torch.cat([before[1], values], 2)
        attended = functional.scaled_dot_product_attention(queries, keys, values)
        return self.proj(attended.transpose(1, 2).reshape(n, m, d))


def _initialize(net: ViT) -> None:
    """Small random weights, so that at first every block is close to the identity."""
    for module in net.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)
    nn.init.trunc_normal_(net.pos_embed, std=0.02)
    nn.init.normal_(net.cls_token, std=1e-6)
