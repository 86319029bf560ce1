"""A conditional variational autoencoder of patterns, which sees them through somebody else's layers."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.networks.tensors import load_module, module_state, seeded
from everlearn.rng import rng_at


class Generator(nn.Module):
    """Features of a pattern to a code, code and class back to the pattern.

    The features are made by the upper layers of a classifier, which are no part of it. Room for classes grows
    as that of a head does.

    Args:
        n_features: size of the features that patterns are seen by.
        shape: of one pattern.
        width: units of the layers between; a narrow decoder makes poor patterns.
        code_size: numbers in a code.
        seed: decides the first weights.

    Example:
        >>> generator = Generator(n_features=8, shape=(4, 2, 2))
        >>> generator.admit(3)
        False
        >>> generator.decode(torch.zeros(5, 100), torch.tensor([0, 1, 2, 2, 0])).shape
        torch.Size([5, 4, 2, 2])

    References: Kingma and Welling 2014, arXiv:1312.6114; conditional: Sohn et al. 2015.
    """

    def __init__(
        self,
        *,
        n_features: int,
        shape: tuple[int, ...],
        width: int = 256,
        code_size: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.shape, self.code_size, self.width, self.seed = shape, code_size, width, seed
        with seeded(seed):
            self.encoder = nn.Sequential(
                nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, 2 * code_size)
            )
            self.code = nn.Linear(code_size, width)
            self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(width, math.prod(shape)))
        self.classes = nn.Parameter(self._strangers(0, 16))

    def admit(self, n_classes: int) -> bool:
        """Make room for classes; True if the parameter was replaced by a larger one."""
        if n_classes <= len(self.classes):
            return False
        self.make_room(1 << (n_classes - 1).bit_length())
        return True

    def make_room(self, capacity: int) -> None:
        """Hold so many classes; those there is no room for are lost."""
        known = self.classes.detach()[:capacity]
        self.classes = nn.Parameter(torch.cat([known, self._strangers(len(known), capacity)]))

    def state(self) -> dict[str, Any]:
        """All weights."""
        return module_state(self)

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned, with its number of classes."""
        self.make_room(len(state["classes"]))
        load_module(self, state)

    def encode(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(n, n_features) -> mean and logarithm of the variance of each code, (n, code_size)."""
        mean, log_variance = self.encoder(features).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, codes: Tensor, classes: Tensor) -> Tensor:
        """(n, code_size), (n,) -> patterns (n, ...); where they are below zero, zero is meant.

        They are cut off at zero by `dream` and not here, since what is cut off could not be learned from.
        """
        # A class's row is what its entry in a vector of zeros and a one would be multiplied by.
        made: Tensor = self.decoder(self.code(codes) + self.classes[classes])
        return made.view(-1, *self.shape)

    @torch.no_grad()
    def dream(self, codes: Tensor, classes: Tensor) -> Tensor:
        """Patterns as they come out of a layer that ends in a ReLU."""
        return self.decode(codes, classes).relu_()

    def _strangers(self, first: int, last: int) -> Tensor:
        """Rows of classes that have not been met.

        They are random, and so far apart from the start. Did they begin alike, the few steps of a task would
        teach the codes to say which class it is, and nobody would listen to the rows.
        """
        numbers = rng_at(self.seed, "rows of classes", first).normal((last - first) * self.width)
        return torch.from_numpy(numbers).to(self.code.weight).view(-1, self.width)


def generation_loss(
    patterns: Tensor, made: Tensor, code: tuple[Tensor, Tensor], outputs: Tensor, classes: Tensor, *,
    beta: float, eta: float,
) -> Tensor:  # fmt: skip
    """Squared error + beta * divergence of the codes from N(0, 1) + eta * cross-entropy.

    All three are means: over patterns, and over the activations of a pattern and the numbers of a code. So
    the weights mean the same whatever the sizes. The paper writes sums; a thousand activations would then
    outweigh the classifier, and with its beta and eta what is made says nothing of its class.

    Args:
        patterns: what was to be made, (n, ...).
        made: what was made of it.
        code: mean and logarithm of the variance of each code, (n, code_size).
        outputs: what the frozen classifier says to what was made, (n, n_classes).
        classes: what it should say, (n,).
        beta: weight of the divergence.
        eta: weight of the cross-entropy.
    """
    mean, log_variance = code
    error = functional.mse_loss(made, patterns)
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).mean() / 2
    return error + beta * divergence + eta * functional.cross_entropy(outputs, classes)
