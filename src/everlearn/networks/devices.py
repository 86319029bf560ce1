"""Devices: selection, transfers, deterministic kernels and mixed precision."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor

from everlearn.errors import BadInput
from everlearn.networks.distributed import world_size

AUTO = "auto"
CPU = torch.device("cpu")
CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""Without this setting, matrix products of CUDA are not deterministic."""


def resolve_device(name: str) -> torch.device:
    """The device of a name such as "cuda:1"; "auto" is the first available one of cuda, mps and cpu.

    Example:
        >>> resolve_device("cpu")
        device(type='cpu')
    """
    if name == AUTO:
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if _is_usable(kind)))
    if not is_available(name):
        raise BadInput(f"device is {name}, but torch finds no such device; use cpu or auto")
    return torch.device(name)


def is_available(name: str) -> bool:
    """Whether this machine has a device."""
    device = torch.device(name)
    if device.type == "cpu":
        return True
    module = torch.get_device_module(device.type)
    return bool(module.is_available()) and (device.index or 0) < module.device_count()


def _is_usable(kind: str) -> bool:
    """Whether every process of a run has a device of this kind."""
    if world_size() == 1 or kind == "cpu":
        return is_available(kind)
    return kind == "cuda" and is_available(kind) and "nccl" in dist.get_backend_config()


def to_device(tensor: Tensor, device: torch.device | None) -> Tensor:
    """The tensor on a device; transfers to CUDA use pinned memory, so that this process does not wait."""
    if device is not None and device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def to_like(array: npt.NDArray[Any], other: Tensor) -> Tensor:
    """An array as a tensor with the type of another tensor, on its device."""
    return to_device(torch.from_numpy(array).to(other.dtype), other.device)


def loss_value(loss: Tensor) -> float | Tensor:
    """A loss for the log: a number on the CPU, else the tensor, since reading it waits for the device.

    Example:
        >>> loss_value(torch.tensor(0.5, requires_grad=True))
        0.5
    """
    detached = loss.detach()
    return float(detached) if detached.device.type == "cpu" else detached


def loss_values(losses: Mapping[str, Tensor]) -> dict[str, float | Tensor]:
    """The `loss_value` of each loss, by name."""
    return {name: loss_value(loss) for name, loss in losses.items()}


def device_info(device: torch.device) -> dict[str, Any]:
    """The properties of a device that exact results depend on."""
    if device.type != "cuda":
        return {"device": device.type}
    return {"device": device.type, "gpu": torch.cuda.get_device_name(device), "deterministic": True}


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """Context in which CUDA uses deterministic kernels, with a warning for operations that have none.

    Other devices are not changed: the kernels of the CPU are always deterministic.
    """
    if device.type != "cuda":
        yield
        return
    was_set = torch.are_deterministic_algorithms_enabled()
    was_warning = torch.is_deterministic_algorithms_warn_only_enabled()
    benchmark, environment = torch.backends.cudnn.benchmark, os.environ.copy()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    os.environ |= {name: environment.get(name, value) for name, value in CUBLAS.items()}
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_set, warn_only=was_warning)
        torch.backends.cudnn.benchmark = benchmark
        for name in CUBLAS.keys() - environment.keys():
            os.environ.pop(name, None)


def mixed_precision(device: torch.device, *, enabled: bool) -> AbstractContextManager[Any]:
    """Context in which matrix products and convolutions are computed in bfloat16, if enabled.

    Weights and optimizer states stay in float32. Gradients of bfloat16 do not underflow, so losses need no
    scaling.
    """
    if not enabled:
        return nullcontext()
    if device.type == "mps":
        raise BadInput("amp is on, but mps has no mixed precision here; use cpu or cuda, or omit it")
    return torch.autocast(device.type, dtype=torch.bfloat16)
