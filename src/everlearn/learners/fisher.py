"""Diagonals of the empirical Fisher information."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def fisher_diagonal(
    loss: Callable[[Tensor, Tensor], Tensor], images: Tensor, targets: Tensor, parameters: Sequence[Tensor]
) -> list[Tensor]:
    """The mean over images of the squared gradient of -log p(target | image), for each parameter.

    Args:
        loss: gives -log p(target | image) for batches of one image.
        images: (n, C, H, W).
        targets: (n,).
        parameters: the weights.

    Example:
        >>> weight = torch.ones(1, requires_grad=True)
        >>> images, targets = torch.tensor([1.0, 3.0]), torch.zeros(2)
        >>> fisher_diagonal(lambda image, target: (weight * image - target).sum(), images, targets, [weight])
        [tensor([5.])]
    """
    squares = [torch.zeros_like(parameter) for parameter in parameters]
    for i in range(len(images)):
        gradients = torch.autograd.grad(loss(images[i : i + 1], targets[i : i + 1]), parameters)
        for square, gradient in zip(squares, gradients, strict=True):
            square += gradient.square()
    return [square / max(1, len(images)) for square in squares]
