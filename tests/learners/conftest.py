"""A network that is small enough for calculations by hand."""

import pytest
import torch

from everlearn.networks.backbones import BACKBONES, Backbone


class Flat(Backbone):
    """Pixels times one weight; with a head, softmax regression."""

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.n_features = image_shape[0] * image_shape[1]
        self.gain = torch.nn.Parameter(torch.ones(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.gain * images.flatten(1)


@pytest.fixture(autouse=True)
def _flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKBONES.builtin, "flat", f"{__name__}:Flat")  # type: ignore[arg-type]
