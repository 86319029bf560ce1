"""Files of published weights: torch's own format without torch, and what is refused."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks.published_weights import PTH_MAGIC, published, read_arrays


def save(content: Any, path: Path) -> None:
    """Write the format of the package with the weights of EfficientNet-Lite0."""
    torch.save(content, path, _use_new_zipfile_serialization=False)


def test_files_of_torch_are_read(tmp_path):
    base = torch.arange(24.0).reshape(4, 6)
    tensors = {
        "float": torch.randn(3, 4),
        "half": torch.randn(5).half(),
        "number": torch.tensor(7),
        "part of another": base[1:, 2:4],
        "transposed": base.T,
    }
    save(tensors, tmp_path / "net.pth")
    found = read_arrays(tmp_path / "net.pth")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], tensor.float().numpy())


class Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("made-by-the-file",)


@pytest.mark.parametrize("content", [Harmful(), {"weights": Harmful()}, [1, 2]])
def test_nothing_else_in_a_file_of_torch_is_called(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(content, tmp_path / "net.pth")
    with pytest.raises(BadInput, match="is not a file of weights, or it is damaged"):
        read_arrays(tmp_path / "net.pth")
    assert not (tmp_path / "made-by-the-file").exists()


def test_damaged_files_are_refused(tmp_path):
    save({"weights": torch.randn(100)}, tmp_path / "net.pth")
    content = (tmp_path / "net.pth").read_bytes()
    (tmp_path / "short.pth").write_bytes(content[:-20])
    (tmp_path / "very short.pth").write_bytes(content[:100])
    (tmp_path / "empty.pth").write_bytes(b"")
    (tmp_path / "net.safetensors").write_bytes(b"no weights")
    parts = (PTH_MAGIC, 1001, {}, {}, ["storage that no tensor names"])
    (tmp_path / "other.pth").write_bytes(b"".join(map(pickle.dumps, parts)))
    for name in ("other.pth", "short.pth", "very short.pth", "empty.pth", "net.safetensors"):
        with pytest.raises(BadInput, match="is not a file of weights, or it is damaged"):
            read_arrays(tmp_path / name)


def test_names_of_the_classifier_are_left_out():
    lite0 = published("efficientnet-lite0").convert(
        {"_conv_stem.weight": 1, "_blocks.0._bn1.bias": 2, "_fc.weight": 3, "_bn1.running_var": 4}
    )
    assert lite0 == {"stem.1.0.weight": 1, "block1.depthwise.1.bias": 2, "top.1.running_var": 4}
    mobilenet = published("mobilenet-v1").convert(
        {"body.0.0.weight": 1, "body.2.0.weight": 2, "head.bias": 3}
    )
    assert mobilenet == {"conv1.1.0.weight": 1, "conv2_1.1.0.weight": 2}
    with pytest.raises(BadInput, match="unknown ImageNet network 'resnet-18'"):
        published("resnet-18")
