import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks.pretraining import accuracy, pretrain
from everlearn.streams import Batch


def bars(n: int) -> Batch:
    """Images with a bright bar on the left (label 7) or on top (label 3), in a place that varies."""
    images, labels = np.zeros((n, 16, 16), np.uint8), np.where(np.arange(n) % 2, 7, 3)
    for row, label in enumerate(labels):
        bar = slice(row % 5, row % 5 + 3)
        images[row][(slice(None), bar) if label == 7 else bar] = 255
    return Batch(images, labels)


def test_pretraining_learns() -> None:
    reports: list[tuple[float, int, str]] = []
    net = pretrain(bars(64), epochs=4, batch_size=16, image_size=16, progress=lambda *t: reports.append(t))
    assert accuracy(net, bars(20), [3, 7]) > 0.9
    assert [done for done, _, _ in reports] == list(range(1, 17))
    assert not net.training


def test_seed_determines_the_weights() -> None:
    torch.manual_seed(1)
    first = pretrain(bars(16), epochs=1, batch_size=8, image_size=16)
    torch.manual_seed(2)
    again, other = (pretrain(bars(16), epochs=1, batch_size=8, image_size=16, seed=seed) for seed in (0, 1))
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    assert not torch.equal(first.pos_embed, other.pos_embed)


def test_color_images() -> None:
    gray = bars(8)
    coloured = Batch(np.repeat(gray.images[..., None], 3, axis=3), gray.labels)
    assert pretrain(coloured, epochs=1, image_size=16).n_channels == 3


def test_one_class_is_refused() -> None:
    batch = bars(8)
    with pytest.raises(BadInput, match="1 classes are too few"):
        pretrain(batch[batch.labels == 7])
    with pytest.raises(BadInput, match="epochs"):
        pretrain(batch, epochs=0)
