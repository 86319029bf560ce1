"""How much arithmetic a network costs, estimated from its layers."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Hook = Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]

BACKWARD = 2
"""Going back through a layer costs about twice as much as going forward."""


def flops_per_image(module: nn.Module, image_shape: tuple[int, ...]) -> float:
    """Floating-point operations of one image's way forward: two for each multiply-add of a layer.

    Example:
        >>> flops_per_image(nn.Sequential(nn.Flatten(), nn.Linear(16 * 16, 10)), (16, 16))
        5120.0
    """
    counted: list[float] = []

    def counting(layer: nn.Conv2d | nn.ConvTranspose2d | nn.Linear) -> Hook:
        # Each output is a sum of as many products as one row of the weights has entries; where a convolution
        # is transposed, each input goes into as many.
        products = 2.0 * layer.weight[0].numel()
        if isinstance(layer, nn.ConvTranspose2d):
            return lambda _layer, given, _output: counted.append(products * given[0][0].numel())
        return lambda _layer, _given, output: counted.append(products * output[0].numel())

    layers = [m for m in module.modules() if isinstance(m, nn.Conv2d | nn.ConvTranspose2d | nn.Linear)]
    hooks = [layer.register_forward_hook(counting(layer)) for layer in layers]
    _look_once(module, image_shape)
    for hook in hooks:
        hook.remove()
    return sum(counted)


def _look_once(module: nn.Module, image_shape: tuple[int, ...]) -> None:
    height, width, *colours = image_shape
    was_training = module.training
    module.eval()
    with torch.no_grad():
        module(torch.zeros(1, *(colours or [1]), height, width, device=_device(module)))
    module.train(was_training)


def _device(module: nn.Module) -> torch.device | None:
    return next((weight.device for weight in module.parameters()), None)
