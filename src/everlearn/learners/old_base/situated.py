"""The common part of learners that find out where they are: which environment, and what applies in it."""

from dataclasses import dataclass, field
from typing import Literal, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, State
from everlearn.learners.old_base.environments import BoolArray, Environments, Rules
from everlearn.learners.old_base.tolerance import tolerated_noise
from everlearn.learners.old_base.variational import FEWEST, Described, Drawn, Latents, Variational
from everlearn.networks import load_module, module_state, n_bytes, seeded
from everlearn.networks.divergences import atypicality, bernoulli_entropy
from everlearn.rng import FloatArray, rng_at
from everlearn.streams.stream import Images

REFRESH = 500
"""Batches between two searches for the noise that is tolerated."""


@dataclass
class Glance:
    """A batch before anything is learned from it.

    Attributes:
        pixels: its images.
        described: what the encoder says of them.
        atypical: how unlike N(0, 1) each latent is over the batch.
        floor: the error of perfect drawings.
        drawn: the images drawn again in some environments.
        opened: 1 for latents of single images that are open whatever the mask says.
    """

    pixels: Tensor
    described: Described
    atypical: FloatArray
    floor: float
    drawn: dict[int, Drawn] = field(default_factory=dict)
    opened: Tensor = field(default_factory=lambda: torch.zeros(()))


class Places(Latents, total=False):
    """The settings of `Situated` and those above it."""

    clustering: bool
    masking: bool
    n_environments: int
    selector: Literal["classifier", "reconstruction"]
    kappa: float
    excess: bool
    mask_low: float
    mask_high: float
    mask_spare: bool
    patience: int
    guard: int
    settle: int
    warm_up: int
    used_by: Literal["nats", "noise"]
    used_nats: float
    used_noise: float
    capacity_restarts: bool


class Situated(Variational):
    """A variational autoencoder that notices where it is (S) and which latents apply there (A).

    Args:
        clustering: S: find out which environment a batch comes from; there is only one without.
        masking: A: close latents that do not apply.
        n_environments: environments there is room for.
        selector: who names the likeliest environment: "classifier" (of features), or "reconstruction" (the
            one that draws the batch best, which costs one drawing for each).
        kappa: a batch is new to an environment that draws it this many times worse than its own (the paper's
            is not known, nor are the values of the settings below).
        excess: judge drawings by what their error is above that of perfect ones; if not, by the whole error,
            as printed, by which thin lines on black are drawn well however badly they are drawn.
        mask_low: a closed latent opens again when its atypicality falls below this.
        mask_high: an open latent closes when its atypicality rises above this.
        mask_spare: close atypical latents even if no environment uses them, as the paper's rule has it; spare
            ones then can get lost for good, and all of them at the very beginning.
        patience: batches in a row that must speak for a change; nothing is learned while it is in doubt.
        guard: steps after an arrival during which the present environment is kept if it explains what comes,
            and no new one is found.
        settle: batches of an environment after which its mask stays as it is.
        warm_up: steps after an arrival in which the step size rises, its averages being forgotten. A new
            environment is drawn so badly at first that what it teaches would else sweep away what is known.
        used_by: which latents an environment uses: "nats" (those that tell its images apart by more than
            used_nats on average) or "noise" (those on which its drawings tolerate noise of less than
            used_noise).
        used_nats: see used_by.
        used_noise: see used_by.
        capacity_restarts: C of a new environment starts at the nats of its open latents and rises again, and
            is remembered until it returns; if not, C goes on from one to the next.
    """

    def __init__(
        self,
        *,
        clustering: bool = True,
        masking: bool = True,
        n_environments: int = 7,
        selector: Literal["classifier", "reconstruction"] = "classifier",
        kappa: float = 1.5,
        excess: bool = True,
        mask_low: float = 0.35,
        mask_high: float = 0.5,
        mask_spare: bool = False,
        patience: int = 3,
        guard: int = 300,
        settle: int = 10,
        warm_up: int = 100,
        used_by: Literal["nats", "noise"] = "nats",
        used_nats: float = 0.1,
        used_noise: float = 2.0,
        capacity_restarts: bool = True,
        **latents: Unpack[Latents],
    ) -> None:
        self.n_slots = n_environments
        super().__init__(**latents)
        check_range("used_noise", used_noise, 0, 1e6)
        check_range("warm_up", warm_up, 0, 1e9)
        self.clustering, self.masking, self.selector = clustering, masking, selector
        self.excess, self.mask_spare, self.capacity_restarts = excess, mask_spare, capacity_restarts
        self.used_by, self.used_noise, self.warm_up = used_by, used_noise, warm_up
        rules = Rules(
            kappa=kappa,
            low=mask_low,
            high=mask_high,
            patience=patience,
            guard=guard,
            settle=settle,
            used_nats=used_nats,
        )
        self.environments = Environments(n_latents=self.n_latents, most=n_environments, rules=rules)
        self.n_seen = 0
        with seeded(self.seed):
            self.classifier = nn.Linear(self.net.encoder.head.in_features, n_environments)
        self.learning.append(self.classifier)
        self.optimiser = self.fresh_optimiser()

    @torch.no_grad()
    def infer(self, images: Images) -> int:
        """The environment that a batch speaks for; -1 for one that was never met. Changes nothing."""
        return self._candidate(self.glance(self.pixels(images)))

    @torch.no_grad()
    def chances(self, images: Images) -> FloatArray:
        """How likely each image comes from each environment met so far, to the classifier, (n, n_known)."""
        chances: FloatArray = self._chances(self.look(self.pixels(images)).features).cpu().double().numpy()
        return chances

    def glance(self, pixels: Tensor) -> Glance:
        """A first look at a batch."""
        described = self.look(pixels)
        atypical = atypicality(described.mean.detach(), described.log_variance.detach())
        floor = float(bernoulli_entropy(pixels).mean()) if self.excess and self.clustering else 0.0
        return Glance(pixels, described, atypical.cpu().double().numpy(), floor)

    def drawn(self, glance: Glance, environment: int) -> Drawn:
        """The batch as drawn in an environment, behind its mask; once is enough."""
        if environment not in glance.drawn:
            mask = torch.from_numpy(self.environments.known[environment].mask).to(glance.pixels)
            seen = glance.described.behind(torch.maximum(mask, glance.opened.to(mask)))
            glance.drawn[environment] = self.draw_again(glance.pixels, seen, environment)
        return glance.drawn[environment]

    def settled(self, glance: Glance) -> int | None:
        """S: the environment to learn in, once arrived there; None while that is in doubt.

        Too few images to judge by are taken to come from here.
        """
        there, self.n_seen = self.environments, self.n_seen + 1
        if not self.clustering or len(glance.pixels) < FEWEST:
            return there.current
        before = there.current
        settled = there.settle(self._candidate(glance), self.n_seen)
        if settled is not None and settled != before:
            self.arrive(glance, before)
        return settled

    def arrive(self, glance: Glance, before: int) -> None:
        """Before any weight moves in another environment: look which latents apply, and where C starts."""
        there = self.environments
        self._find_used(before)
        for weight in self.net.parameters():
            self.optimiser.state.pop(weight, None)
        if there.present.n_batches == 0:
            there.present.mask = self._mask(glance) if self.masking else there.present.mask
            drawn = self.drawn(glance, there.current)
            there.present.capacity = float((drawn.nats - self.informative * drawn.idle).detach().sum())
        if not self.capacity_restarts:
            there.present.capacity = there.known[before].capacity

    def descend(self, loss: Tensor, n_images: int) -> None:
        """Move the weights a step down the slope of the loss; the autoencoder's with care after arrivals."""
        there = self.environments
        share = min(1.0, (there.n_since + 1) / (self.warm_up + 1)) if there.changes else 1.0
        self.optimiser.param_groups[0]["lr"] = share * self.learning_rate
        super().descend(loss, n_images)

    def close_latents(self, glance: Glance) -> None:
        """A: close what does not apply, and open what does, until the environment has settled."""
        there = self.environments
        if self.masking and (not self.clustering or there.present.n_batches < there.rules.settle):
            mask = self._mask(glance)
            if (mask != there.present.mask).any():
                there.present.mask = mask
                glance.drawn.clear()

    def note(self, glance: Glance, drawn: Drawn) -> None:
        """What a step taught about the environment; C rises."""
        present = self.environments.present
        nats, atypical = drawn.nats.detach().cpu().double().numpy(), glance.atypical
        if self.clustering:  # a closed latent that exploration opened is not this environment's own
            nats = np.where(present.mask, nats, 0)
        else:  # what a closed latent stands for goes on, unseen, in the only environment
            nats, atypical = np.where(present.mask, (nats, atypical), (present.nats, present.atypical))
        present.note(float(drawn.error.detach()) - glance.floor, nats, atypical)
        present.capacity = self.raised(present.capacity, int(present.mask.sum()))
        if self.used_by == "nats" or present.n_batches % REFRESH == 0:
            self._find_used(self.environments.current)

    def state(self) -> State:
        """The networks' state, and the environments."""
        return {
            **super().state(),
            "classifier": module_state(self.classifier),
            "environments": self.environments.state(),
            "n_seen": self.n_seen,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        load_module(self.classifier, state["classifier"])
        self.environments.load(state["environments"])
        self.n_seen = state["n_seen"]

    def footprint(self) -> Footprint:
        """The bytes of the networks."""
        return Footprint(weights=super().footprint().weights + n_bytes(self.classifier))

    def _candidate(self, glance: Glance) -> int:
        known = range(len(self.environments.known))
        if self.selector == "reconstruction":
            guess = min(known, key=lambda s: float(self.drawn(glance, s).error.detach()))
        else:
            guess = int(self._chances(glance.described.features).mean(0).argmax())
        return self.environments.candidate(guess, lambda s: self._explains(glance, s))

    def _explains(self, glance: Glance, environment: int) -> bool:
        """Whether a batch is drawn well in an environment, and opens just the latents that it uses."""
        known, rules = self.environments.known[environment], self.environments.rules
        error = float(self.drawn(glance, environment).error.detach()) - glance.floor
        if error > rules.kappa * known.error:
            return False
        return not (self.masking and self.environments.differs(environment, glance.atypical))

    def _chances(self, features: Tensor) -> Tensor:
        chances: Tensor = self.classifier(features.detach()).softmax(1)
        return chances[:, : len(self.environments.known)]

    def _mask(self, glance: Glance) -> BoolArray:
        there = self.environments
        mask = there.rules.mask(glance.atypical, there.present.mask)
        precious = there.used_elsewhere() if self.clustering else there.present.used
        return mask if self.mask_spare else mask | ~precious

    def _find_used(self, environment: int) -> None:
        known = self.environments.known[environment]
        if self.used_by == "nats":
            known.used = known.telling > self.environments.rules.used_nats
        else:
            rng = rng_at(self.seed, "vase tolerance", self.n_steps)
            noise = tolerated_noise(self.net.decoder, environment, self.n_latents, rng)
            known.used = noise < self.used_noise
