"""VASE: life-long disentangled representation learning with cross-domain latent homologies."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from everlearn.errors import BadInput
from everlearn.learners.base import Losses, setting
from everlearn.learners.capabilities import EnvironmentInfo
from everlearn.learners.stateful import Names
from everlearn.learners.vase.cci_vae import MIN_BATCH, Posterior, Reconstruction, VAELearner
from everlearn.learners.vase.environments import (
    BoolArray,
    EncodedBatch,
    EnvironmentInference,
    tolerated_noise,
)
from everlearn.learners.vase.generative_replay import ShiftPolicy, Snapshot, random_shift
from everlearn.networks.divergences import atypicality, bernoulli_entropy
from everlearn.rng import FloatArray, rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images

USAGE_EVERY = 500
"""Batches between two searches for the tolerated noise."""
SNAPSHOT_EVERY = 2500
"""Steps between snapshots without environment inference."""


class VASE(VAELearner):
    """Variational autoencoder with shared embeddings (VASE).

    One step on a batch x from an unknown environment, with the paper's letters for the three components:

    1. Encode x to posteriors q(z | x), which depend on x alone.
    2. S (environment inference): x comes from the most likely environment s, unless its reconstruction error
       in s exceeds kappa times the running mean of s, or its mask differs from that of s on a latent that s
       uses. Then s is new and gets its own C.
    3. A (latent masking): mask the latents whose aggregate posterior over the batch is unlike N(0, 1).
       They represent factors that do not vary here, and must not be overwritten.
    4. Minimize E_q[-log p(x | z, s)] + gamma * (KL(q(z | x) || N(0, I)) - C)^2, with noise z ~ N(0, 1) for
       masked latents.
    5. D (generative replay, the paper's "dreaming"): on images x' that a snapshot generates of the other
       environments, add encoder_weight * W2(q(z | x'), q_old(z | x'))^2
       + decoder_weight * KL(p_old(x' | z) || p(x' | z)).

    Example:
        >>> from everlearn.streams import environments
        >>> batch = environments(sequence=["sprites"], image_size=16, images_per_stage=32).task(0).train
        >>> learner = VASE.tiny()
        >>> losses = learner.learn(batch)
        >>> losses["environment"], losses["active_latents"], learner.encode(batch.images).shape
        (0.0, 24.0, (32, 24))

    Reference: Achille et al. 2018, "Life-long disentangled representation learning with cross-domain latent
    homologies", arXiv:1808.06508. Values that it does not publish are settings here.
    """

    environment_inference: bool = setting("S: infer the environment; if false, there is one", default=True)
    latent_masking: bool = setting("A: mask atypical latents", default=True)
    generative_replay: bool = setting("D: replay generated samples of other environments", default=True)
    max_environments: int = setting("largest number of environments", default=7, ge=1, le=1000)
    selector: Literal["classifier", "reconstruction"] = setting(
        'most likely environment: by a "classifier" q(s | x) of features, or by the lowest "reconstruction" '
        "error, which costs one decoder pass per environment",
        default="classifier",
    )
    kappa: float = setting(
        "a batch is new to an environment if its reconstruction error is this many times the mean (not "
        "published, like all settings below)",
        default=1.5, ge=1, le=1e6,
    )  # fmt: skip
    excess_nll: bool = setting(
        "compare reconstruction errors above their lower bound, the entropy of the pixels; if false, whole "
        "errors are compared as published, and sparse images never look new",
        default=True,
    )
    mask_low: float = setting("a masked latent becomes active below this atypicality", default=0.35, ge=0)
    mask_high: float = setting("an active latent is masked above this atypicality", default=0.5, ge=0, le=1e6)
    mask_unused: bool = setting(
        "mask atypical latents even if no environment uses them, as published; unused ones can then be lost, "
        "all of them at the start of training",
        default=False,
    )
    patience: int = setting(
        "consecutive batches that must point to another environment; all but the last are skipped",
        default=3, ge=1, le=1000,
    )  # fmt: skip
    cooldown: int = setting("steps after a change without new environments", default=300, ge=0, le=10**9)
    mask_freeze_after: int = setting("batches after which a mask is fixed", default=10, ge=0, le=10**9)
    lr_warmup: int = setting(
        "steps after a change in which the VAE's learning rate rises linearly, with new optimizer state; the "
        "large errors of a new environment would otherwise overwrite what was learned",
        default=100, ge=0, le=10**9,
    )  # fmt: skip
    usage_criterion: Literal["kl", "noise"] = setting(
        'which latents an environment uses: "kl", those with an informative KL above usage_min_kl, or '
        '"noise", those on which the decoder tolerates noise below usage_max_noise',
        default="kl",
    )
    usage_min_kl: float = setting("see usage_criterion", default=0.1, ge=0, le=1e3)
    usage_max_noise: float = setting("see usage_criterion", default=2.0, ge=0, le=1e6)
    restart_capacity: bool = setting(
        "start C of a new environment at the KL of its active latents, and keep one C per environment; if "
        "false, C is continued across environments",
        default=True,
    )
    snapshot_every: int = setting(
        "steps between snapshots; 0: at each change of environment, or 2500 without environment inference",
        default=0, ge=0, le=10**9,
    )  # fmt: skip
    replay_size: int = setting("generated samples per step; 0: as in the batch", default=0, ge=0, le=10**9)
    replay_current: bool = setting("generate samples of the current environment too", default=False)
    encoder_weight: float = setting("weight of the encoder distance", default=1.0, ge=0, le=1e6)
    decoder_weight: float = setting(
        "weight of the decoder distance; 0 is SD-[41], Ramapuram et al.", default=1.0, ge=0, le=1e6
    )
    exploration: Literal["none", "imagined", "random"] = setting(
        'shift half of each batch to vary latents that only other environments use: "imagined" by a policy '
        'that realizes sampled values of these latents, "random" uniformly',
        default="none",
    )
    max_shift: float = setting("largest shift, in half image widths", default=0.5625, ge=0, le=2)

    parts: ClassVar[Names] = ("environments", "policy", "snapshot")
    counters: ClassVar[Names] = ("n_batches",)
    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "environment inference": {"environment_inference": False},
        "generative replay": {"generative_replay": False},
        "latent masking": {"latent_masking": False},
        "capacity": {"entangled": True},
    }

    def setup(self) -> None:
        super().setup()
        if self.mask_low > self.mask_high:
            raise BadInput(f"mask_low is {self.mask_low}; it must be at most mask_high, {self.mask_high}")
        self.environments = EnvironmentInference(self.net.encoder.head.in_features, self)
        self.policy = ShiftPolicy(self.n_latents, max_shift=self.max_shift, seed=self.seed)
        self.snapshot = Snapshot(self.net)
        self.trained += [self.environments.classifier, self.policy]
        self.optim = self.make_optimizer()
        self.n_batches = 0

    def learn(self, batch: Batch) -> Losses:
        x = self.encode_batch(self.to_pixels(batch.images))
        self.n_batches += 1
        environment = self.update_environment(x)
        if environment is None:
            return self._losses(self.reconstruct_in(x, self.environments.index), skipped=1.0)
        self.update_mask(x)
        explored, policy_loss = self.explore(x)
        reconstruction = self.reconstruct_in(explored, environment)
        loss = reconstruction.nll + self.capacity_loss(reconstruction, self.environments.current.capacity)
        loss = loss + self.replay_loss(x) + policy_loss
        self.warm_up_learning_rate()
        self.optimizer_step(loss, len(batch))
        self.update_statistics(explored, reconstruction)
        every = self.snapshot_every or (0 if self.environment_inference else SNAPSHOT_EVERY)
        if every and self.n_steps % every == 0:
            self.snapshot.take(len(self.environments.known))
        return self._losses(reconstruction, loss=float(loss.detach()))

    def encode_batch(self, pixels: Tensor) -> EncodedBatch:
        """Posterior and batch statistics."""
        posterior = Posterior(*self.net.encoder(pixels))
        alpha = atypicality(posterior.mean.detach(), posterior.log_variance.detach()).cpu().double().numpy()
        subtract = self.excess_nll and self.environment_inference
        min_nll = float(bernoulli_entropy(pixels).mean()) if subtract else 0.0
        return EncodedBatch(pixels, posterior, alpha, min_nll)

    def reconstruct_in(self, x: EncodedBatch, environment: int) -> Reconstruction:
        """The batch reconstructed in an environment with its mask; computed once."""
        if environment not in x.reconstructions:
            mask = torch.from_numpy(self.environments.known[environment].mask).to(x.pixels)
            posterior = x.posterior.masked(torch.maximum(mask, x.unmasked.to(mask)))
            x.reconstructions[environment] = self.reconstruct(x.pixels, posterior, environment)
        return x.reconstructions[environment]

    # S: environment inference

    def update_environment(self, x: EncodedBatch) -> int | None:
        """The environment to train in; None while a change is pending. Small batches do not change it."""
        before = self.environments.index
        if not self.environment_inference or len(x.pixels) < MIN_BATCH:
            return before
        environment = self.environments.confirm(self.candidate(x), self.n_batches)
        if environment is not None and environment != before:
            self.on_environment_change(x, before)
        return environment

    def candidate(self, x: EncodedBatch) -> int:
        """The environment that a batch points to; -1 for a new one."""
        if self.selector == "reconstruction":
            known = range(len(self.environments.known))
            guess = min(known, key=lambda s: float(self.reconstruct_in(x, s).nll.detach()))
        else:
            guess = int(self.environments.probabilities(x.posterior.features).mean(0).argmax())
        return self.environments.candidate(guess, lambda s: self.explains(x, s))

    def explains(self, x: EncodedBatch, environment: int) -> bool:
        """Whether an environment reconstructs a batch well, and the batch activates the latents it uses."""
        nll = float(self.reconstruct_in(x, environment).nll.detach()) - x.min_nll
        if nll > self.kappa * self.environments.known[environment].nll:
            return False
        return not (self.latent_masking and self.environments.mask_differs(environment, x.atypicality))

    def on_environment_change(self, x: EncodedBatch, before: int) -> None:
        """Before any weight changes in another environment: set its mask and C, take a snapshot."""
        known, current = self.environments.known, self.environments.current
        self.update_usage(before)
        for weight in self.net.parameters():
            self.optim.state.pop(weight, None)
        if current.n_batches == 0:
            current.mask = self.mask(x) if self.latent_masking else current.mask
            kl, aggregate_kl = self.reconstruct_in(x, self.environments.index)[1:]
            current.capacity = float((kl - self.informative_kl * aggregate_kl).detach().sum())
        if not self.restart_capacity:
            current.capacity = known[before].capacity
        self.snapshot.take(sum(each.n_batches > 0 for each in known))

    # A: latent masking

    def update_mask(self, x: EncodedBatch) -> None:
        """Mask atypical latents until the mask of the environment is fixed."""
        current = self.environments.current
        frozen = self.environment_inference and current.n_batches >= self.mask_freeze_after
        if self.latent_masking and not frozen:
            mask = self.mask(x)
            if (mask != current.mask).any():
                current.mask = mask
                x.reconstructions.clear()

    def mask(self, x: EncodedBatch) -> BoolArray:
        """The latents that a batch activates; unless `mask_unused`, only used ones can be masked."""
        current = self.environments.current
        mask = self.environments.mask(x.atypicality, current.mask)
        used = self.environments.used_elsewhere() if self.environment_inference else current.used
        return mask if self.mask_unused else mask | ~used

    def update_statistics(self, x: EncodedBatch, reconstruction: Reconstruction) -> None:
        """Running means and used latents of the current environment; C grows."""
        current = self.environments.current
        kl, alpha = reconstruction.kl.detach().cpu().double().numpy(), x.atypicality
        if self.environment_inference:  # exploration can activate masked latents; they do not count
            kl = np.where(current.mask, kl, 0)
        else:  # masked latents keep their statistics in the only environment
            kl, alpha = np.where(current.mask, (kl, alpha), (current.kl, current.atypicality))
        current.update(float(reconstruction.nll.detach()) - x.min_nll, kl, alpha)
        current.capacity = self.next_capacity(current.capacity, int(current.mask.sum()))
        if self.usage_criterion == "kl" or current.n_batches % USAGE_EVERY == 0:
            self.update_usage(self.environments.index)

    def update_usage(self, environment: int) -> None:
        """Which latents an environment uses."""
        known = self.environments.known[environment]
        if self.usage_criterion == "kl":
            known.used = known.informative_kl > self.usage_min_kl
        else:
            rng = rng_at(self.seed, "vase tolerance", self.n_steps)
            noise = tolerated_noise(self.net.decoder, environment, self.n_latents, rng)
            known.used = noise < self.usage_max_noise

    # D: generative replay

    def replay_loss(self, x: EncodedBatch) -> Tensor:
        """Distance to the snapshot on generated samples, and the loss of the environment classifier."""
        environments = torch.full((len(x.pixels),), self.environments.index, device=x.pixels.device)
        loss = self.environments.classifier_loss(x.posterior.features, environments)
        past = self.replayed_environments()
        if not past:
            return loss
        rng = rng_at(self.seed, "vase dream", self.n_steps)
        samples = self.snapshot.sample(self.replay_size or len(x.pixels), past, rng)
        proximity = self.snapshot.proximity(samples, decoder=self.decoder_weight > 0)
        self.count_flops(len(samples.latents), 4 * self.forward_flops, backward=False)
        loss = loss + self.environments.classifier_loss(proximity.features, samples.environments)
        return loss + self.encoder_weight * proximity.encoder + self.decoder_weight * proximity.decoder

    def replayed_environments(self) -> list[int]:
        """The environments of generated samples: those of the snapshot, without the current one."""
        n_known = self.snapshot.n_environments if self.generative_replay else 0
        include_current = self.replay_current or not self.environment_inference
        return [s for s in range(n_known) if include_current or s != self.environments.index]

    def explore(self, x: EncodedBatch) -> tuple[EncodedBatch, Tensor]:
        """Shift half of the batch to vary masked latents of other environments; with the policy loss."""
        free = self.environments.used_elsewhere() & ~self.environments.current.mask
        policy_loss, half = torch.zeros(()).to(x.pixels), len(x.pixels) // 2
        if self.exploration == "none" or self.snapshot.net is None or not half or not free.any():
            return x, policy_loss
        rng = rng_at(self.seed, "vase move", self.n_batches)
        unmasked = torch.from_numpy(free).to(x.pixels.device)
        if self.exploration == "random":
            shifted = random_shift(x.pixels[:half], self.max_shift, rng)
        else:
            encoder = self.snapshot.net.encoder
            shifted, policy_loss = self.policy.explore(encoder, x.pixels[:half], unmasked, rng)
        explored = self.encode_batch(torch.cat([shifted, x.pixels[half:]]))
        explored.atypicality = x.atypicality
        explored.unmasked = torch.zeros_like(explored.posterior.mean)
        explored.unmasked[:half] = unmasked.to(explored.unmasked)
        return explored, policy_loss

    def warm_up_learning_rate(self) -> None:
        """Linear warm-up of the VAE's learning rate after a change of environment."""
        n = self.environments.n_since_change
        factor = min(1.0, (n + 1) / (self.lr_warmup + 1)) if self.environments.changes else 1.0
        self.optim.param_groups[0]["lr"] = factor * self.learning_rate

    # Capability InfersEnvironment

    @torch.no_grad()
    def infer_environment(self, images: Images) -> int:
        """The environment that a batch points to; -1 for a new one. Does not change the state."""
        return self.candidate(self.encode_batch(self.to_pixels(images)))

    @torch.no_grad()
    def environment_probabilities(self, images: Images) -> FloatArray:
        """q(s | x) of the classifier, (n, n_known)."""
        features = self.net.encoder(self.to_pixels(images))[2]
        return self.environments.probabilities(features).cpu().double().numpy()

    def environment_info(self) -> list[EnvironmentInfo]:
        """What is known of each environment."""
        return [each.info() for each in self.environments.known]

    def environment_changes(self) -> list[tuple[int, int]] | None:
        """After how many batches it changed, and to which environment; None without inference."""
        return self.environments.changes if self.environment_inference else None

    def _losses(self, reconstruction: Reconstruction, *, loss: float = 0.0, skipped: float = 0.0) -> Losses:
        return {
            "loss": loss,
            "reconstruction": float(reconstruction.nll.detach()),
            "kl": float(reconstruction.kl.detach().sum()),
            "capacity": self.environments.current.capacity,
            "environment": float(self.environments.index),
            "active_latents": float(self.environments.current.mask.sum()),
            "skipped": skipped,
        }
