"""Conversions between numpy and torch (images, weights, optimizer states), and FLOPs of networks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from everlearn.errors import BadInput
from everlearn.networks.devices import to_device

Arrays = dict[str, npt.NDArray[Any]]

MID_GRAY = 0.66
"""Gray level of the background of sprites; it becomes zero in tensors."""
EVAL_BATCH_SIZE = 256
"""Images per batch outside training: enough to be fast, few enough to stop soon after a signal."""
BACKWARD = 2
"""Approximate cost of a backward pass in forward passes."""


class NotFinite(BadInput):
    """A weight is infinite or NaN, so the state is not worth saving.

    Example:
        >>> layer = nn.Linear(1, 1)
        >>> _ = layer.weight.data.fill_(torch.nan)
        >>> module_state(layer)
        Traceback (most recent call last):
        ...
        everlearn.networks.tensors.NotFinite: the weights weight are not finite any more
    """


def to_tensor(images: npt.NDArray[np.uint8], device: torch.device | None = None) -> Tensor:
    """Images (n, H, W[, 3]) as a float tensor (n, C, H, W), with the background near zero.

    Example:
        >>> to_tensor(np.full((2, 16, 16, 3), 255, np.uint8)).shape
        torch.Size([2, 3, 16, 16])
    """
    return levels_to_tensor(to_device(torch.from_numpy(np.ascontiguousarray(images)), device))


def levels_to_tensor(images: Tensor) -> Tensor:
    """Gray levels (n, H, W[, 3]) of any type as a tensor like those of `to_tensor`; overwrites floats."""
    tensor = images.unsqueeze(1) if images.ndim == 3 else images.permute(0, 3, 1, 2)
    return tensor.float().div_(255.0).sub_(MID_GRAY)


@torch.no_grad()
def map_batches(function: Callable[[npt.NDArray[np.uint8]], Tensor], images: npt.NDArray[np.uint8]) -> Tensor:
    """The rows that a function gives for images, computed in batches and concatenated on the CPU.

    Example:
        >>> images = np.zeros((1000, 4, 4), np.uint8)
        >>> map_batches(lambda part: to_tensor(part).mean(dim=(2, 3)), images).shape
        torch.Size([1000, 1])
    """
    starts = range(0, max(1, len(images)), EVAL_BATCH_SIZE)
    return torch.cat([function(images[start : start + EVAL_BATCH_SIZE]).cpu() for start in starts])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers inside the context; outside, they do not change.

    Example:
        >>> with seeded(0):
        ...     first = torch.rand(2)
        >>> with seeded(0):
        ...     print(torch.equal(torch.rand(2), first))
        True
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # of the CPU, where weights are drawn
        yield


def module_state(module: nn.Module) -> Arrays:
    """Copies of weights and buffers as arrays.

    Example:
        >>> arrays = module_state(nn.Linear(3, 2))
        >>> {name: array.shape for name, array in arrays.items()}
        {'weight': (2, 3), 'bias': (2,)}
    """
    arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise NotFinite(f"the weights {name} are not finite any more")
    return arrays


def load_module(module: nn.Module, arrays: Arrays) -> None:
    """Load weights and buffers; all names must match.

    Example:
        >>> trained, other = nn.Linear(3, 2), nn.Linear(3, 2)
        >>> load_module(other, module_state(trained))
        >>> torch.equal(trained.weight, other.weight)
        True
    """
    module.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in arrays.items()}, strict=True)


def optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Arrays]:
    """The optimizer's moments and counters, by the number of their parameter.

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> optimizer = torch.optim.Adam(layer.parameters())
        >>> minimize(layer(torch.ones(1, 3)).sum(), optimizer)
        >>> sorted(optimizer_state(optimizer)["0"])
        ['exp_avg', 'exp_avg_sq', 'step']
    """
    state = optimizer.state_dict()["state"]
    return {
        str(number): {key: torch.as_tensor(value).cpu().numpy().copy() for key, value in slots.items()}
        for number, slots in state.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, arrays: dict[str, Arrays]) -> None:
    """Load moments and counters.

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> first, second = (torch.optim.Adam(layer.parameters()) for _ in range(2))
        >>> minimize(layer(torch.ones(1, 3)).sum(), first)
        >>> load_optimizer(second, optimizer_state(first))
        >>> second.state[layer.bias]["step"]
        tensor(1.)
    """
    slots = {
        int(number): {key: torch.from_numpy(np.array(value)) for key, value in values.items()}
        for number, values in arrays.items()
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": slots})
    for weight, values in optimizer.state.items():
        for key, value in values.items():
            # A fused optimizer needs moments with the memory layout of their weights.
            if value.shape == weight.shape:
                values[key] = torch.empty_like(weight).copy_(value)


def transfer_optimizer_state(old: torch.optim.Optimizer, new: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The new optimizer with the state of the old one, zero-padded where parameters have grown.

    Example:
        >>> small, large = (nn.Parameter(torch.ones(n)) for n in (2, 3))
        >>> old, new = (torch.optim.SGD([weights], lr=0.1, momentum=0.9) for weights in (small, large))
        >>> minimize(small.sum(), old)
        >>> transfer_optimizer_state(old, new).state[large]["momentum_buffer"]
        tensor([1., 1., 0.])
    """
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


def pad_to(tensor: Tensor, shape: torch.Size) -> Tensor:
    """The tensor in a shape that may be larger, padded with zeros.

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


def minimize(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Backpropagate a loss, and update the weights.

    Example:
        >>> weights = nn.Parameter(torch.tensor([2.0]))
        >>> minimize((weights**2).sum(), torch.optim.SGD([weights], lr=0.25))
        >>> weights.data
        tensor([1.])
    """
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def n_channels(image_shape: tuple[int, ...]) -> int:
    """The channels of images (H, W) or (H, W, C)."""
    return image_shape[2] if len(image_shape) == 3 else 1


def n_bytes(module: nn.Module) -> int:
    """The bytes of a module's weights and buffers.

    Example:
        >>> n_bytes(nn.Linear(3, 2))  # 8 numbers of 4 bytes
        32
    """
    return sum(t.numel() * t.element_size() for t in (*module.parameters(), *module.buffers()))


def flops_per_image(module: nn.Module, image_shape: tuple[int, ...]) -> float:
    """FLOPs of one forward pass: two for each multiply-add of convolutions and dense layers.

    Example:
        >>> flops_per_image(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), (8, 8))
        1280.0
    """
    counts: list[float] = []

    def count(layer: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        # Each output is a sum of as many products as a row of the weights has entries; in a transposed
        # convolution, each input is in as many products.
        values = inputs[0][0] if isinstance(layer, nn.ConvTranspose2d) else output[0]
        counts.append(2.0 * layer.weight[0].numel() * values.numel())

    layers = [m for m in module.modules() if isinstance(m, nn.Conv2d | nn.ConvTranspose2d | nn.Linear)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    device = next((weight.device for weight in module.parameters()), None)
    was_training = module.training
    with torch.no_grad():
        module.eval()(to_tensor(np.zeros((1, *image_shape), np.uint8), device))
    module.train(was_training)
    for hook in hooks:
        hook.remove()
    return sum(counts)
