"""The common part of learners that describe images by latents, without being told what they show."""

import math
from typing import Literal, NamedTuple, Self, TypedDict

import numpy as np
import torch
from torch import Tensor

from everlearn.errors import BadInput, check_range
from everlearn.learners.base import Footprint, Learner, State
from everlearn.networks import (
    BACKWARD,
    flops_per_image,
    load_module,
    load_optimizer,
    module_state,
    n_bytes,
    optimizer_state,
    to_tensor,
)
from everlearn.networks.divergences import atypicality, bernoulli_nll, kl_to_prior
from everlearn.networks.vae import MIN_STD, VAE, to_unit_range
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.stream import Images

PIECE = 256
"""Images described together: enough to be fast, few enough to answer a signal soon."""
FEWEST = 16
"""Images from which on a batch says something about all images like its own."""


class Described(NamedTuple):
    """What an encoder says of images: Gaussians over latents, and the features they come from."""

    mean: Tensor
    log_variance: Tensor
    features: Tensor

    def behind(self, mask: Tensor) -> "Described":
        """The same with closed latents (0 in the mask) put back to N(0, 1); nothing is learned there."""
        return Described(self.mean * mask, self.log_variance * mask, self.features)


class Drawn(NamedTuple):
    """A batch drawn again.

    Attributes:
        error: -log p of an image, averaged over images.
        nats: what each latent costs, averaged over images.
        idle: the part of it that says nothing, since it is the same for all images: how far the average of
            a latent is from N(0, 1).
    """

    error: Tensor
    nats: Tensor
    idle: Tensor


class Latents(TypedDict, total=False):
    """The settings of `Variational`, which methods pass on, so that all of them are compared alike."""

    image_shape: tuple[int, ...]
    seed: int
    size: str
    n_latents: int
    learning_rate: float
    gamma: float
    capacity_step: float
    capacity_most: float
    finest: float
    penalty: Literal["squared", "absolute", "ceiling"]
    informative: bool
    entangled: bool
    beta: float


class Variational(Learner):
    """An autoencoder that may say ever more about an image: C nats, and C rises.

    With q the Gaussian that the encoder makes of an image x, the loss is E_q[-log p(x | z)] plus a price of
    KL(q || N(0, I)), which as printed is gamma * (KL - C)^2; the KL is averaged over a batch before.
    Nobody tells it labels, so it answers nothing; what it knows is read from its latents (`encode`).

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        size: of the networks: "paper", "half", "small" or "tiny".
        n_latents: numbers that describe an image.
        learning_rate: Adam's step size (the paper's is not known).
        gamma: the price of a distance to C. Notes on the paper have 100; at 32 px, where a drawing costs a
            quarter of what it does at 64, that drowns what drawings teach in the noise of single batches.
        capacity_step: nats by which C rises at each step (the paper's are not known).
        capacity_most: where C stops rising (not known either); before that, where open latents can say no
            more.
        finest: the smallest standard deviation of a latent, which bounds what it can say: by 3 nats if it is
            0.05. Without a bound, C is met by ever finer words for what was learned first, such as places,
            and the rest is never learned.
        penalty: of the distance to C: "squared", as printed; "absolute", as CCI-VAE had it; or "ceiling",
            squared above C and nothing below. The first two compel it to say C nats, and waste them on
            needless precision if C rises faster than it learns; the last lets unused latents fall asleep.
        informative: let C count the nats that tell images apart, and charge gamma for each that is the same
            for all; if not, C counts both alike, as printed, and is met by constant shifts, which say
            nothing, if it rises fast (far above 0.002 a step).
        entangled: do without C: E_q[-log p(x | z)] + beta * KL(q || N(0, I)).
        beta: the price of a nat without C; 1 is the plain variational autoencoder.
    """

    supervision = "images"
    is_classifier = False
    n_slots = 1
    """Environments that the decoder can tell apart."""

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        size: str = "small",
        n_latents: int = 24,
        learning_rate: float = 1e-3,
        gamma: float = 2.0,
        capacity_step: float = 0.01,
        capacity_most: float = 25.0,
        finest: float = MIN_STD,
        penalty: Literal["squared", "absolute", "ceiling"] = "squared",
        informative: bool = True,
        entangled: bool = False,
        beta: float = 1.0,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed)
        if not 0 < learning_rate < 1e6:
            raise BadInput(f"learning_rate is {learning_rate}; it must be above 0 and below a million")
        for name, value in {"gamma": gamma, "capacity_step": capacity_step, "beta": beta}.items():
            check_range(name, value, 0, 1e6)
        check_range("capacity_most", capacity_most, 0, 1e4)
        check_range("finest", finest, 1e-3, 1)
        self.learning_rate, self.gamma, self.penalty = learning_rate, gamma, penalty
        self.capacity_step, self.capacity_most = capacity_step, capacity_most
        self.informative, self.entangled, self.beta = informative, entangled, beta
        self.n_latents, self.finest = n_latents, finest
        self.net = VAE(
            image_shape,
            size=size,
            n_latents=n_latents,
            n_environments=self.n_slots,
            min_std=finest,
            seed=seed,
        )
        self.learning: list[torch.nn.Module] = [self.net]
        self.optimiser = self.fresh_optimiser()
        self.n_steps = 0
        self._flops_per_image = (1 + BACKWARD) * flops_per_image(self.net, image_shape)

    @classmethod
    def tiny(cls, image_shape: tuple[int, ...] = (16, 16), seed: int = 0) -> Self:
        """The smallest sensible one, for tests and doctests."""
        return cls(image_shape=image_shape, seed=seed, size="tiny")

    def fresh_optimiser(self) -> torch.optim.Optimizer:
        """An optimiser of all that learns, the autoencoder first, which remembers nothing."""
        groups = [{"params": list(module.parameters())} for module in self.learning]
        return torch.optim.Adam(groups, lr=self.learning_rate, fused=True)

    def look(self, pixels: Tensor) -> Described:
        """What the encoder says of images."""
        return Described(*self.net.encoder(pixels))

    def draw_again(self, pixels: Tensor, described: Described, environment: int) -> Drawn:
        """How well latents drawn from what was said give back the images, and what they cost."""
        latents = described.mean + (0.5 * described.log_variance).exp() * self.noise(
            "latents", described.mean
        )
        shown = torch.full((len(pixels),), environment, device=pixels.device)
        error = bernoulli_nll(self.net.decoder(latents, shown), pixels).mean()
        nats = kl_to_prior(described.mean, described.log_variance).mean(0)
        many = len(pixels) >= FEWEST
        idle = atypicality(described.mean, described.log_variance) if many else torch.zeros_like(nats)
        return Drawn(error, nats, idle)

    def price(self, drawn: Drawn, capacity: float) -> Tensor:
        """What it costs to say what was said where C is `capacity`."""
        nats, idle = drawn.nats.sum(), drawn.idle.sum()
        if self.entangled:
            return self.beta * nats
        above = nats - capacity - (idle if self.informative else 0)
        apart = {"squared": above.square(), "absolute": above.abs(), "ceiling": above.relu().square()}
        return self.gamma * (apart[self.penalty] + (idle if self.informative else 0))

    def raised(self, capacity: float, n_open: int) -> float:
        """C after one more step, as far as open latents can say so much; what lies above already stays."""
        most = min(self.capacity_most, -math.log(self.finest) * n_open)
        return max(capacity, min(capacity + self.capacity_step, most))

    def descend(self, loss: Tensor, n_images: int) -> None:
        """Move the weights a step down the slope of the loss."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.n_steps += 1
        self.flops += n_images * self._flops_per_image

    def noise(self, purpose: str, like: Tensor) -> Tensor:
        """Standard normal numbers of this step, in the shape of a tensor."""
        numbers = rng_at(self.seed, f"variational {purpose}", self.n_steps).normal(like.numel())
        return torch.from_numpy(numbers).to(like).view_as(like)

    def pixels(self, images: Images) -> Tensor:
        """Images (n, H, W[, 3]) of bytes as shares of white (n, C, H, W)."""
        device = self.net.encoder.head.weight.device
        return to_unit_range(to_tensor(images, device)).contiguous(memory_format=torch.channels_last)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """Nothing: whoever was never told a name has none to tell, so every answer is -1."""
        return np.full(len(images), -1, np.int64)

    def encode(self, images: Images) -> FloatArray:
        """The mean of every latent, (n, n_latents)."""
        return self.posterior(images)[0]

    @torch.no_grad()
    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of every latent, (n, n_latents) each."""
        said = [np.zeros((0, 2 * self.n_latents))]
        for start in range(0, len(images), PIECE):
            mean, log_variance, _ = self.look(self.pixels(images[start : start + PIECE]))
            said.append(torch.cat([mean, (0.5 * log_variance).exp()], dim=1).cpu().double().numpy())
        both = np.concatenate(said)
        return both[:, : self.n_latents], both[:, self.n_latents :]

    @torch.no_grad()
    def decode(self, latents: FloatArray, environment: int = 0) -> FloatArray:
        """Images (n, H, W[, 3]) of latents as an environment shows them, in shares of white."""
        given = torch.from_numpy(np.asarray(latents, np.float32)).to(self.net.encoder.head.weight.device)
        shown = torch.full((len(given),), environment, device=given.device)
        pixels = self.net.decoder(given, shown).sigmoid().permute(0, 2, 3, 1).cpu().double().numpy()
        return np.asarray(pixels if pixels.shape[3] > 1 else pixels[..., 0])

    def state(self) -> State:
        """Weights, optimiser, counters."""
        return {
            "net": module_state(self.net),
            "optimiser": optimizer_state(self.optimiser),
            "n_steps": self.n_steps,
            "flops": self.flops,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        load_module(self.net, state["net"])
        load_optimizer(self.optimiser, state["optimiser"])
        self.n_steps, self.flops = state["n_steps"], state["flops"]

    def footprint(self) -> Footprint:
        """The bytes of the networks."""
        return Footprint(weights=n_bytes(self.net))
