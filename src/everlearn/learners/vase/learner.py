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
from everlearn.learners.vase.environments import EncodedBatch, EnvironmentInference
from everlearn.learners.vase.generative_replay import ShiftPolicy, Snapshot, random_shift
from everlearn.networks.devices import to_like
from everlearn.networks.divergences import atypicality, bernoulli_entropy
from everlearn.rng import FloatArray, rng_at
from everlearn.streams import Batch
from everlearn.streams.stream import Images


class VASE(VAELearner):
    """Variational autoencoder with shared embeddings (VASE).

    One step on a batch x from an unknown environment, with the paper's letters for the three components and
    the numbers of its equations:

    1. Encode x to posteriors q(z | x), which depend on x alone; the atypicality of a latent is the KL of its
       aggregate posterior over the batch to N(0, 1) (4).
    2. S (environment inference): x comes from the most likely environment s, unless its reconstruction error
       in s exceeds kappa times the running mean of s, or its mask differs from that of s on a latent that s
       uses. Then s is new (6).
    3. A (latent masking): mask atypical latents (5). They represent factors that do not vary here, and must
       not be overwritten. Latents that no other environment uses stay active: as printed, the rule can mask
       all latents before any is learned, and masked latents do not learn.
    4. Minimize E_q[-log p(x | z, s)] + gamma * (KL(q(z | x) || N(0, I)) - C)^2, with noise z ~ N(0, 1) for
       masked latents (2, 3).
    5. D (generative replay, the paper's "dreaming"): on images x' that a snapshot generates of the other
       environments, add W2(q(z | x'), q_old(z | x'))^2 + KL(p_old(x' | z) || p(x' | z)) (7).

    Each environment has its own C. In a new environment, and when the mask changes, C restarts at the KL of
    the active latents: they would otherwise have to replace the KL of masked latents at once, by constant
    shifts of their means, which makes them atypical, until none is active.

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
    patience: int = setting(
        "consecutive batches that must point to another environment; all but the last are skipped",
        default=3, ge=1, le=1000,
    )  # fmt: skip
    mask_freeze_after: int = setting(
        "batches after which the mask of an inferred environment is fixed; without, a latent that becomes "
        "active or masked while an environment is learned declares new ones",
        default=10, ge=0, le=10**9,
    )  # fmt: skip
    cooldown: int = setting("steps after a change without new environments", default=300, ge=0, le=10**9)
    test_current: bool = setting(
        "test whether the current environment explains a batch too; if false, only the one that the "
        "classifier names, as published",
        default=True,
    )
    usage_min_kl: float = setting(
        "an environment uses the latents whose KL exceeds their atypicality by this much",
        default=0.1, ge=0, le=1e3,
    )  # fmt: skip
    reset_optimizer: bool = setting("restart Adam's state when the environment changes", default=False)
    snapshot_every: int = setting("steps between snapshots", default=500, ge=1, le=10**9)
    replay_size: int = setting("generated samples per step; 0: as in the batch", default=0, ge=0, le=10**9)
    decoder_weight: float = setting(
        "weight of the decoder distance; 0 is SD-[41], Ramapuram et al.", default=1.0, ge=0, le=1e6
    )
    encoder_weight: float = setting(
        "weight of latents that the replayed environment uses in the encoder distance; published: 1, as for "
        "all latents. A larger weight protects latents with small standard deviations",
        default=1.0, ge=0, le=1e6, late=True,
    )  # fmt: skip
    replay_pixels: Literal["mean", "sampled"] = setting(
        'pixels of generated samples: "sampled" draws 0 or 1, as published; "mean" uses the probabilities, '
        "blurred images that protect the encoding of images with details less",
        default="mean", late=True,
    )  # fmt: skip
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
        self.optimizer_step(loss, len(batch))
        self.update_statistics(explored, reconstruction)
        if self.n_steps % self.snapshot_every == 0:
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
        if environment not in (None, before) and self.reset_optimizer:
            for weight in self.net.parameters():
                self.optim.state.pop(weight, None)
        return environment

    def candidate(self, x: EncodedBatch) -> int:
        """The environment that a batch points to; -1 for a new one."""
        guess = int(self.environments.probabilities(x.posterior.features).mean(0).argmax())
        return self.environments.candidate(guess, lambda s: self.explains(x, s))

    def explains(self, x: EncodedBatch, environment: int) -> bool:
        """Whether an environment reconstructs a batch well, and the batch activates the latents it uses."""
        nll = float(self.reconstruct_in(x, environment).nll.detach()) - x.min_nll
        if nll > self.kappa * self.environments.known[environment].nll:
            return False
        return not (self.latent_masking and self.environments.mask_differs(environment, x.atypicality))

    # A: latent masking

    def update_mask(self, x: EncodedBatch) -> None:
        """Mask atypical latents; C restarts in a new environment and when the mask changes."""
        current = self.environments.current
        is_new = current.n_batches == 0 and self.environments.index > 0
        mask = current.mask
        is_fixed = self.environment_inference and current.n_batches >= self.mask_freeze_after
        if self.latent_masking and not is_fixed and len(x.pixels) >= MIN_BATCH:
            used = self.environments.used_elsewhere() if self.environment_inference else current.used
            mask = self.environments.mask(x.atypicality, mask) | ~used
        if is_new or (mask != current.mask).any():
            current.mask = mask
            x.reconstructions.clear()
            kl = float(self.reconstruct_in(x, self.environments.index).kl.detach().sum())
            current.capacity = min(kl, self.max_capacity)

    def update_statistics(self, x: EncodedBatch, reconstruction: Reconstruction) -> None:
        """Running means and used latents of the current environment; C grows."""
        current = self.environments.current
        kl, alpha = reconstruction.kl.detach().cpu().double().numpy(), x.atypicality
        if self.environment_inference:  # exploration can activate masked latents; they do not count
            kl = np.where(current.mask, kl, 0)
        else:  # masked latents keep their statistics in the only environment
            kl, alpha = np.where(current.mask, (kl, alpha), (current.kl, current.atypicality))
        current.update(float(reconstruction.nll.detach()) - x.min_nll, kl, alpha)
        current.used = current.informative_kl > self.usage_min_kl
        current.capacity = self.next_capacity(current.capacity)

    # D: generative replay

    def replay_loss(self, x: EncodedBatch) -> Tensor:
        """Distance to the snapshot on generated samples, and the loss of the environment classifier."""
        environments = torch.full((len(x.pixels),), self.environments.index, device=x.pixels.device)
        loss = self.environments.classifier_loss(x.posterior.features, environments)
        past = self.replayed_environments()
        if not past:
            return loss
        rng = rng_at(self.seed, "vase dream", self.n_steps)
        n, sample_pixels = self.replay_size or len(x.pixels), self.replay_pixels == "sampled"
        samples = self.snapshot.sample(n, past, rng, sample_pixels=sample_pixels)
        weights = self.encoder_weights(samples.environments)
        proximity = self.snapshot.proximity(samples, decoder=self.decoder_weight > 0, weights=weights)
        self.count_flops(len(samples.latents), 4 * self.forward_flops, backward=False)
        loss = loss + self.environments.classifier_loss(proximity.features, samples.environments)
        return loss + proximity.encoder + self.decoder_weight * proximity.decoder

    def encoder_weights(self, environments: Tensor) -> Tensor:
        """Weights of latents in the encoder distance, (n, n_latents), for samples of these environments."""
        used = np.stack([known.used for known in self.environments.known])
        weights = np.where(used, self.encoder_weight, 1.0)
        return to_like(weights, self.net.encoder.head.weight)[environments]

    def replayed_environments(self) -> list[int]:
        """The environments of generated samples: those of the snapshot, less an inferred current one."""
        n_known = self.snapshot.n_environments if self.generative_replay else 0
        return [s for s in range(n_known) if not self.environment_inference or s != self.environments.index]

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

    # Capability InfersEnvironment

    @torch.no_grad()
    def infer_environment(self, images: Images) -> int:
        """The environment that a batch points to; -1 for a new one. Does not change the state."""
        return self.candidate(self.encode_batch(self.to_pixels(images)))

    @torch.no_grad()
    def environment_probabilities(self, images: Images) -> FloatArray:
        """q(s | x) of the classifier, (n, n_known)."""
        if not len(images):  # PixelUnshuffle fails on empty batches
            return np.zeros((0, len(self.environments.known)))
        features = self.net.encoder(self.to_pixels(images))[2]
        return self.environments.probabilities(features).cpu().double().numpy()

    def environment_info(self) -> list[EnvironmentInfo]:
        """Statistics of each known environment."""
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
