"""A small convolutional network for drawn characters, trained on Omniglot characters that no query shows.

`python -m benchmarks.photos.character_network` trains it and stores it in the cache folder. The product opens
a memory with it (`Recogniser.open(folder, weights=weights_path())`), so it is trained on images as a memory
describes them: characters that are cut out and drawn on gray.
"""

import sys
import time
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.photos.archives import Pixels, cache_folder
from benchmarks.photos.features import Vectors, opaque, remembered
from benchmarks.photos.omniglot import _read, all_characters, training_characters
from everlearn.errors import BadInput
from everlearn.networks import to_tensor
from everlearn.networks.backbones import Backbone
from everlearn.networks.tensors import MID_GRAY
from everlearn.networks.weights import load_backbone, save_weights
from everlearn.recognition.views import FILL, render
from everlearn.streams.images.canonical import cut_out, read_image

BACKBONE = f"{__spec__.name if __spec__ else __name__}:CharacterNetwork"
SIZE, CANONICAL = 80, 128
"""Pixels per side of a view, and of an exemplar in a memory."""
SIDE = SIZE // 2
WIDTHS = (32, 48, 96, 128)
EPOCHS = 10
BATCH = 128
LEARNING_RATE = 2e-3
TEMPERATURE = 16.0
WEIGHTS = "character-network-views.safetensors"


def view(image: Pixels) -> Pixels:
    """A drawn character as a memory describes it: cut out, trimmed, scaled, on gray (SIZE, SIZE, 3)."""
    found = cut_out(read_image(opaque(image)))
    return np.asarray(render(found.canonical(CANONICAL), 0.0, SIZE)[0])


class CharacterNetwork(Backbone):
    """Four convolutions and a linear layer on what is darker than the background; features have length 1."""

    n_features = 256

    def __init__(self, image_shape: tuple[int, ...] = (SIZE, SIZE, 3)) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number, (n_in, n_out) in enumerate(pairwise((1, *WIDTHS))):
            size, stride = (5, 2) if number == 0 else (3, 1)
            layers += [nn.Conv2d(n_in, n_out, size, stride, padding=size // 2, bias=False)]
            layers += [nn.BatchNorm2d(n_out), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if number in (1, 2) else []
        n_flat = WIDTHS[-1] * (image_shape[0] // 16) ** 2
        self.net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(n_flat, self.n_features))

    def forward(self, images: Tensor) -> Tensor:
        """(n, 3, SIZE, SIZE) as `to_tensor` gives it -> (n, n_features)."""
        return self.of_strokes(strokes(images))

    def of_strokes(self, drawn: Tensor) -> Tensor:
        """(n, 1, SIDE, SIDE) in 0..1 -> (n, n_features)."""
        features: Tensor = self.net(drawn)
        return functional.normalize(features)


def strokes(images: Tensor) -> Tensor:
    """How much darker than the background views (n, 3, SIZE, SIZE) are: (n, 1, SIDE, SIDE), in 0..1."""
    level = FILL[0] / 255
    darker = (level - (images.mean(dim=1, keepdim=True) + MID_GRAY)) / level
    return functional.avg_pool2d(darker.clamp(0, 1), 2)


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
    images = torch.cat([strokes(to_tensor(np.stack(list(map(view, _read(files[name])))))) for name in names])
    labels = torch.arange(len(names)).repeat_interleave(len(images) // len(names))
    net = CharacterNetwork()
    weights = nn.Parameter(torch.randn(4 * len(names), net.n_features) * 0.05)
    optimizer = torch.optim.AdamW([*net.parameters(), weights], LEARNING_RATE, weight_decay=0.01)
    n_steps = epochs * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, n_steps)
    for epoch in range(epochs):
        net.train()
        start, losses = time.monotonic(), []
        order = torch.randperm(len(images), generator=generator)
        for rows in torch.chunk(order[: n_steps // epochs * BATCH], n_steps // epochs):
            turns = int(torch.randint(4, (1,), generator=generator))
            batch = torch.rot90(augmented(images[rows], generator), turns, (2, 3))
            logits = TEMPERATURE * net.of_strokes(batch) @ functional.normalize(weights).T
            loss = functional.cross_entropy(logits, labels[rows] + turns * len(names))
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {time.monotonic() - start:.0f} s", flush=True)
    return net.eval()


def weights_path() -> Path:
    """Path of the weights, which may not be trained yet."""
    return cache_folder() / WEIGHTS


def trained_weights() -> Path:
    """The file of the trained weights."""
    if not weights_path().is_file():
        raise BadInput(
            "the character network is not trained; run `python -m benchmarks.photos.character_network`"
        )
    return weights_path()


@cache
def trained_network() -> CharacterNetwork:
    """The network with stored weights."""
    net = CharacterNetwork()
    load_backbone(net, str(trained_weights()))
    return net.eval()


def character_features(images: Sequence[Pixels]) -> Vectors:
    """Features of drawn characters."""
    return remembered("characters", images, _features)


@torch.no_grad()
def _features(images: Sequence[Pixels]) -> Vectors:
    return trained_network()(to_tensor(np.stack(list(map(view, images))))).numpy()


if __name__ == "__main__":
    torch.set_num_threads(1)
    trained = train(*map(int, sys.argv[1:]))
    save_weights(trained, weights_path(), backbone=BACKBONE, image_shape=(SIZE, SIZE, 3))
