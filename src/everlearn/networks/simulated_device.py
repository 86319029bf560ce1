"""A simulated GPU for tests on machines without one: computes on the CPU, raises the errors of a GPU."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

CPU = torch.device("cpu")
TENSOR: Any = Tensor  # attributes such as `device` are descriptors, which its annotations do not say
NAME, PINNED = "simulated_device", "is_simulated_pin"
"""Attributes of storages, so that all views of a tensor, and a parameter made of it, share its device."""
TO_NUMPY = (Tensor.numpy, Tensor.__array__)
READS = (
    Tensor.item, Tensor.tolist, Tensor.__bool__, Tensor.__float__, Tensor.__int__, Tensor.__index__,
    Tensor.nonzero, torch.nonzero,
)  # fmt: skip
"""Functions that wait for the device."""
FROM_HOST = (torch.tensor, torch.as_tensor)
BETWEEN_DEVICES = (Tensor.copy_, TENSOR.data.__set__, torch._has_compatible_shallow_copy_type)
"""Functions whose tensors may be on different devices."""
NO_SCALARS = (torch.cat, torch.stack)
"""Functions that do not accept a CPU tensor of one number together with tensors of a device."""


class SimulatedDevice(TorchFunctionMode):
    """Context in which torch has a simulated device "cuda" or "mps".

    Tensors of the device are CPU tensors with a mark. An operation on tensors of different devices, a
    conversion to numpy, and float64 on mps raise the errors of the real device. `n_waits` counts how often
    this process would have waited for the device.

    Example:
        >>> with SimulatedDevice("cuda") as gpu:
        ...     weights = torch.ones(2, device="cuda")
        ...     print(weights.device, (2 * weights).sum().device, float(weights[0]), gpu.n_waits)
        cuda:0 cuda:0 1.0 1
        >>> with SimulatedDevice("cuda"):
        ...     weights + torch.ones(2)
        Traceback (most recent call last):
        ...
        RuntimeError: Expected all tensors to be on the same device, but found cpu and cuda:0 in add
    """

    def __init__(self, kind: Literal["cuda", "mps"]) -> None:
        super().__init__()
        self.kind, self.n_waits = kind, 0
        self._getters: dict[Any, Callable[[torch.device], Any]] = {
            TENSOR.device.__get__: lambda device: device,
            TENSOR.is_cpu.__get__: lambda device: device.type == "cpu",
            TENSOR.is_cuda.__get__: lambda device: device.type == "cuda",
            TENSOR.is_mps.__get__: lambda device: device.type == "mps",
        }
        self._transfers: dict[Any, Callable[..., Tensor]] = {
            Tensor.to: self._to,
            Tensor.cpu: lambda tensor: self._to(tensor, CPU),
            Tensor.cuda: lambda tensor, device="cuda", **options: self._to(tensor, device, **options),
            Tensor.pin_memory: lambda tensor: _marked(tensor.clone(), CPU, is_pinned=True),
        }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Check a call, make it on the CPU, and mark its results."""
        kwargs = dict(kwargs or {})
        if func in self._getters:
            return self._getters[func](_device_of(args[0]))
        if func in self._transfers:
            return self._transfers[func](*args, **kwargs)
        given = kwargs.pop("device", None)
        target = self._common_device(func, args, kwargs) if given is None else _normal(given)
        if target != CPU:
            self._check(func)
        result = func(*args, **kwargs)
        if func not in BETWEEN_DEVICES and target != CPU:
            for tensor in _tensors(result):
                _marked(tensor, target)
        return result

    def _to(self, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """A copy on another device, or in another type."""
        source = target = _device_of(tensor)
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor):
                target = _device_of(value)
            elif isinstance(value, str | torch.device):
                target = _normal(value)
        plain: list[Any] = [CPU if isinstance(value, str | torch.device) else value for value in args]
        result = tensor.to(*plain, **{**kwargs, **({"device": CPU} if "device" in kwargs else {})})
        if source == target:
            return _marked(result, target) if target != CPU else result
        is_async = bool(kwargs.get("non_blocking")) and getattr(tensor.untyped_storage(), PINNED, False)
        self.n_waits += not is_async
        if result.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr():
            result = result.clone()
        return _marked(result, target)

    def _check(self, func: Any) -> None:
        if func in TO_NUMPY:
            raise TypeError(
                f"can't convert {self.kind}:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        self.n_waits += func in READS or func in FROM_HOST

    def _common_device(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device:
        """The device of all tensors in a call; those that index another one may be on the CPU."""
        if func in (Tensor.__getitem__, Tensor.__setitem__):
            owner, key, *values = args
            moved = [tensor for tensor in _tensors(key) if _device_of(tensor) != CPU]
            tensors = [owner, *moved, *_tensors(values)]
        else:
            tensors = _tensors((args, kwargs))
        devices = {_device_of(each) for each in tensors if each.ndim or _device_of(each) != CPU}
        if func in NO_SCALARS:
            devices = {_device_of(each) for each in tensors}
        if len(devices) > 1 and func not in BETWEEN_DEVICES:
            names = " and ".join(sorted(map(str, devices)))
            name = getattr(func, "__name__", str(func))
            raise RuntimeError(f"Expected all tensors to be on the same device, but found {names} in {name}")
        return next(iter(devices), CPU)


def _tensors(tree: Any) -> list[Tensor]:
    leaves: Iterable[Any] = tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]


def _normal(device: str | torch.device) -> torch.device:
    """The device with an index, such as cuda:0 for cuda."""
    device = torch.device(device)
    return device if device.type == "cpu" else torch.device(device.type, device.index or 0)


def _device_of(tensor: Tensor) -> torch.device:
    return getattr(tensor.untyped_storage(), NAME, CPU)


def _marked(tensor: Tensor, device: torch.device, *, is_pinned: bool = False) -> Tensor:
    """The tensor, after marking its memory as that of a device."""
    if device.type == "mps" and tensor.dtype in (torch.float64, torch.complex128):
        raise TypeError(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
            "Please use float32 instead."
        )
    storage = tensor.untyped_storage()
    setattr(storage, NAME, device)
    setattr(storage, PINNED, is_pinned)
    return tensor
