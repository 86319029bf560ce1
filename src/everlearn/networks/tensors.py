"""Between numpy and torch: images, weights and optimiser states."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from everlearn.errors import BadInput

Arrays = dict[str, npt.NDArray[Any]]

MID_GRAY = 0.66
"""The background of sprites; subtracting it makes empty space exactly zero."""


EVAL_BATCH_SIZE = 256
"""Images per batch outside training: enough to be fast, few enough to stop soon after a signal."""


class NotFinite(BadInput):
    """A weight is infinite or not a number; there is no state worth keeping."""


def to_tensor(images: npt.NDArray[np.uint8], device: torch.device | None = None) -> Tensor:
    """Images (n, H, W[, 3]) of bytes as a float tensor (n, C, H, W), background near zero.

    Example:
        >>> to_tensor(np.full((2, 16, 16, 3), 168, np.uint8)).shape
        torch.Size([2, 3, 16, 16])
    """
    tensor = torch.from_numpy(np.ascontiguousarray(images)).to(device)
    tensor = tensor.unsqueeze(1) if tensor.ndim == 3 else tensor.permute(0, 3, 1, 2)
    return tensor.float().div_(255.0).sub_(MID_GRAY)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers start from `seed` inside, and are untouched outside."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def module_state(module: nn.Module) -> Arrays:
    """Weights and buffers as arrays of their own (training on does not change them)."""
    arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise NotFinite(f"the weights {name} are not finite any more")
    return arrays


def load_module(module: nn.Module, arrays: Arrays) -> None:
    """Put weights and buffers back; every name must match."""
    module.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in arrays.items()}, strict=True)


def optimizer_state(optimiser: torch.optim.Optimizer) -> dict[str, Arrays]:
    """The optimiser's moments and counters, numbered like its parameters."""
    state = optimiser.state_dict()["state"]
    return {
        str(number): {key: torch.as_tensor(value).cpu().numpy().copy() for key, value in slots.items()}
        for number, slots in state.items()
    }


def load_optimizer(optimiser: torch.optim.Optimizer, arrays: dict[str, Arrays]) -> None:
    """Put moments and counters back."""
    slots = {
        int(number): {key: torch.from_numpy(np.array(value)) for key, value in values.items()}
        for number, values in arrays.items()
    }
    optimiser.load_state_dict({**optimiser.state_dict(), "state": slots})
    for weight, values in optimiser.state.items():
        for key, value in values.items():
            # A fused optimiser walks through memory, so moments must lie there as their weights do.
            if value.shape == weight.shape:
                values[key] = torch.empty_like(weight).copy_(value)


def pad_to(tensor: Tensor, shape: torch.Size) -> Tensor:
    """The same numbers in a shape that may be larger, with zeros where it has more.

    Example:
        >>> pad_to(torch.ones(1, 2), torch.Size([2, 2]))
        tensor([[1., 1.],
                [0., 0.]])
    """
    if tensor.shape == shape:
        return tensor
    larger = tensor.new_zeros(shape)
    larger[tuple(slice(n) for n in tensor.shape)] = tensor
    return larger


def transfer_optimizer_state(old: torch.optim.Optimizer, new: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The new optimizer with the state of the old one, zero-padded where parameters have grown."""
    parameters = [parameter for group in new.param_groups for parameter in group["params"]]
    state = optimizer_state(old)
    for number, arrays in state.items():
        shape = parameters[int(number)].shape
        state[number] = {
            key: pad_to(torch.from_numpy(array), shape).numpy() if array.ndim else array
            for key, array in arrays.items()
        }
    load_optimizer(new, state)
    return new


@torch.no_grad()
def map_batches(function: Callable[[npt.NDArray[np.uint8]], Tensor], images: npt.NDArray[np.uint8]) -> Tensor:
    """The rows that a function gives for images, computed in batches and put together on the CPU."""
    starts = range(0, max(1, len(images)), EVAL_BATCH_SIZE)
    return torch.cat([function(images[start : start + EVAL_BATCH_SIZE]).cpu() for start in starts])


def n_bytes(module: nn.Module) -> int:
    """The bytes of a module's weights and buffers."""
    return sum(t.numel() * t.element_size() for t in (*module.parameters(), *module.buffers()))
