import os

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.networks import devices, to_tensor
from everlearn.networks.devices import (
    deterministic,
    loss_value,
    mixed_precision,
    resolve_device,
)
from everlearn.networks.simulated_device import SimulatedDevice

CUDA = torch.device("cuda")
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@pytest.mark.parametrize(("there", "expected"), [({"cuda", "mps"}, "cuda"), ({"mps"}, "mps"), (set(), "cpu")])
def test_auto_is_the_fastest_device(there: set[str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "is_available", lambda name: name in {*there, "cpu"})
    assert resolve_device("auto") == torch.device(expected)


@no_gpu
@pytest.mark.parametrize("name", ["cuda", "cuda:7"])
def test_missing_device_is_an_error(name: str) -> None:
    with pytest.raises(BadInput, match=f"device is {name}, but torch finds no such device; use cpu or auto"):
        resolve_device(name)


def test_index_of_a_gpu_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [devices.is_available(name) for name in ("cuda", "cuda:1", "cuda:2")] == [True, True, False]


def test_images_come_from_pinned_memory() -> None:
    with SimulatedDevice("cuda") as gpu:
        images = to_tensor(np.zeros((2, 4, 4), np.uint8), CUDA)
        assert images.device.type == "cuda"
        assert gpu.n_waits == 0


def test_loss_is_not_read_from_a_gpu() -> None:
    with SimulatedDevice("cuda") as gpu:
        loss = loss_value(torch.ones((), device="cuda", requires_grad=True))
        assert isinstance(loss, torch.Tensor)
        assert not loss.requires_grad
        assert gpu.n_waits == 0


def _flags() -> tuple[bool, bool, bool, str | None]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.backends.cudnn.benchmark,
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )


def test_deterministic_flags_are_set_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    before = _flags()
    with deterministic(CUDA):
        assert _flags() == (True, True, False, ":4096:8")
    assert _flags() == before
    with deterministic(torch.device("cpu")):
        assert _flags() == before


def test_own_cublas_setting_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    with deterministic(CUDA):
        assert _flags()[-1] == ":16:8"
    assert _flags()[-1] == ":16:8"


def test_mixed_precision() -> None:
    layer = torch.nn.Linear(2, 2)
    for enabled, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        with mixed_precision(torch.device("cpu"), enabled=enabled):
            assert layer(torch.ones(1, 2)).dtype == dtype
    with pytest.raises(BadInput, match="amp is on, but mps has no mixed precision"):
        mixed_precision(torch.device("mps"), enabled=True)
