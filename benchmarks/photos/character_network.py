"""A small convolutional network for drawn characters, trained on Omniglot characters that are never asked.

`python -m benchmarks.photos.character_network` trains it and stores it in the cache folder.
"""

import sys
import time
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.photos.archives import Pixels, cache_folder
from benchmarks.photos.features import Vectors, remembered
from benchmarks.photos.omniglot import _read, all_characters, training_characters
from everlearn.errors import BadInput

SIDE = 36
WIDTHS = (32, 48, 96, 128)
N_FEATURES = 256
EPOCHS = 12
BATCH = 128
LEARNING_RATE = 2e-3
TEMPERATURE = 16.0
WEIGHTS = "character-network.safetensors"


def drawing(image: Pixels, side: int = SIDE) -> Pixels:
    """The strokes of a drawn character, trimmed to their box and scaled, as coverage (side, side)."""
    dark = 255 - image[..., :3].min(axis=2)
    rows, columns = np.flatnonzero(dark.max(axis=1) > 128), np.flatnonzero(dark.max(axis=0) > 128)
    if not len(rows):
        return np.zeros((side, side), np.uint8)
    box = dark[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    longer = max(box.shape)
    inner = side - 4
    size = tuple(max(1, round(n * inner / longer)) for n in box.shape[::-1])
    small = np.asarray(Image.fromarray(box).resize(size, Image.Resampling.BOX))
    canvas = np.zeros((side, side), np.uint8)
    top, left = (side - small.shape[0]) // 2, (side - small.shape[1]) // 2
    canvas[top : top + small.shape[0], left : left + small.shape[1]] = small
    return canvas


class CharacterNetwork(nn.Sequential):
    """Four convolutions and a linear layer; features have length 1."""

    def __init__(self) -> None:
        layers: list[nn.Module] = []
        for number, (n_in, n_out) in enumerate(pairwise((1, *WIDTHS))):
            size, stride = (5, 2) if number == 0 else (3, 1)
            layers += [nn.Conv2d(n_in, n_out, size, stride, padding=size // 2, bias=False)]
            layers += [nn.BatchNorm2d(n_out), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if number in (1, 2) else []
        super().__init__(*layers, nn.Flatten(), nn.Linear(WIDTHS[-1] * (SIDE // 8) ** 2, N_FEATURES))

    def forward(self, images: Tensor) -> Tensor:
        """(n, 1, SIDE, SIDE) in 0..1 -> (n, N_FEATURES)."""
        features: Tensor = super().forward(images)  # type: ignore[no-untyped-call]
        return functional.normalize(features)


def augmented(images: Tensor, generator: torch.Generator) -> Tensor:
    """Images under small random affine maps."""
    n = len(images)
    angle, scale_x, scale_y, shear, x, y = torch.rand(6, n, generator=generator) * 2 - 1
    cos, sin = torch.cos(0.3 * angle), torch.sin(0.3 * angle)
    wide, high = torch.exp(0.2 * scale_x), torch.exp(0.2 * scale_y)
    first = torch.stack([wide * cos, -high * sin + 0.3 * shear, 0.1 * x], dim=1)
    second = torch.stack([wide * sin, high * cos, 0.1 * y], dim=1)
    grid = functional.affine_grid(
        torch.stack([first, second], dim=1), list(images.shape), align_corners=False
    )
    return functional.grid_sample(images, grid, align_corners=False)


def train(epochs: int = EPOCHS, seed: int = 0) -> CharacterNetwork:
    """Train on the training characters; each of the four right-angle turns of a character is a class."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    files = all_characters()
    names = training_characters()
    drawn = np.stack([drawing(image) for name in names for image in _read(files[name])])
    images = torch.from_numpy(drawn)[:, None]
    labels = torch.arange(len(names)).repeat_interleave(len(images) // len(names))
    net = CharacterNetwork()
    weights = nn.Parameter(torch.randn(4 * len(names), N_FEATURES) * 0.05)
    optimizer = torch.optim.AdamW([*net.parameters(), weights], LEARNING_RATE, weight_decay=0.01)
    n_steps = epochs * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, n_steps)
    for epoch in range(epochs):
        net.train()
        start, losses = time.monotonic(), []
        order = torch.randperm(len(images), generator=generator)
        for rows in torch.chunk(order[: n_steps // epochs * BATCH], n_steps // epochs):
            turns = int(torch.randint(4, (1,), generator=generator))
            batch = torch.rot90(augmented(images[rows].float() / 255, generator), turns, (2, 3))
            logits = TEMPERATURE * net(batch) @ functional.normalize(weights).T
            loss = functional.cross_entropy(logits, labels[rows] + turns * len(names))
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {time.monotonic() - start:.0f} s", flush=True)
    return net.eval()


def weights_path() -> Path:
    """Where the trained weights are."""
    return cache_folder() / WEIGHTS


@cache
def trained_network() -> CharacterNetwork:
    """The network with stored weights."""
    if not weights_path().is_file():
        raise BadInput(
            "the character network is not trained; run `python -m benchmarks.photos.character_network`"
        )
    net = CharacterNetwork()
    net.load_state_dict(load_file(weights_path()))
    return net.eval()


def character_features(images: Sequence[Pixels]) -> Vectors:
    """Features of drawn characters."""
    return remembered("characters", images, _features)


@torch.no_grad()
def _features(images: Sequence[Pixels]) -> Vectors:
    drawn = torch.from_numpy(np.stack([drawing(image) for image in images]))[:, None]
    return trained_network()(drawn.float() / 255).numpy()


if __name__ == "__main__":
    torch.set_num_threads(1)
    save_file(train(*map(int, sys.argv[1:])).state_dict(), weights_path())
