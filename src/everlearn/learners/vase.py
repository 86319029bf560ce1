"""Life-long disentangled representations: notice a new world, keep the old ones, share what they share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Unpack

import torch
from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base import Footprint, Losses, State
from everlearn.learners.old_base.dreaming import Snapshot, proximity
from everlearn.learners.old_base.imagining import Policy, imagine, wander
from everlearn.learners.old_base.situated import Glance, Places, Situated
from everlearn.learners.old_base.variational import Drawn
from everlearn.networks import load_module, module_state, n_bytes
from everlearn.rng import rng_at
from everlearn.streams import Batch

ALONE = 2500
"""Steps between snapshots where no change of environment says when."""


class Vase(Situated):
    """Variational autoencoder with shared embeddings: S, environments; A, a mask; D, dreams.

    One step, on a batch x that comes from nobody says where:
    1. describe x by Gaussians q over latents, which depend on x alone;
    2. A: close every latent whose average over the batch is unlike N(0, 1): it stands for something that does
       not occur here, and must not be overwritten;
    3. S: x comes from the likeliest environment s unless s draws it worse than kappa times its own images,
       or its mask differs on latents that s uses; then s is new, and gets a C of its own;
    4. minimise E_q[-log p(x | z, s)] + gamma (KL(q || N(0, I)) - C)^2, closed latents being noise;
    5. D: keep encoder and decoder where a snapshot has them, on images that the snapshot dreams of the
       other environments.

    Args:
        dreaming: D: dream of the past.
        snapshot_every: steps between snapshots (the paper's are not known); 0 takes them when the environment
            changes (and, where there are no environments, every 2500 steps).
        dream_size: dreams in a step (not known either); 0 for as many as there are images.
        dream_current: dream of the present environment as well as of the others.
        encoder_weight: of the distance between encoders on dreams.
        decoder_weight: of that between decoders; 0 is the method of Ramapuram et al. (SD-[41]).
        exploration: "none"; or half of a batch is moved so that latents which only other environments use
            vary: "imagined" (by a policy that tries to realise values it imagines) or "random" (anywhere).
        reach: the farthest such move, in half widths of the image.

    Example:
        >>> from everlearn.streams import environments
        >>> batch = environments(sequence=["sprites"], image_size=16, images_per_stage=32).task(0).train
        >>> learner = Vase.tiny()
        >>> losses = learner.learn(batch)
        >>> losses["environment"], losses["open"], learner.encode(batch.images).shape
        (0.0, 24.0, (32, 24))

    Reference: Achille et al. 2018, "Life-long disentangled representation learning with cross-domain latent
    homologies", arXiv:1808.06508. What it leaves open is a setting here and says so.
    """

    ablations: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "environments": {"clustering": False},
        "dreams": {"dreaming": False},
        "mask": {"masking": False},
        "capacity": {"entangled": True},
    }

    def __init__(
        self,
        *,
        dreaming: bool = True,
        snapshot_every: int = 0,
        dream_size: int = 0,
        dream_current: bool = False,
        encoder_weight: float = 1.0,
        decoder_weight: float = 1.0,
        exploration: Literal["none", "imagined", "random"] = "none",
        reach: float = 0.5625,
        **places: Unpack[Places],
    ) -> None:
        super().__init__(**places)
        for name, value in (("encoder_weight", encoder_weight), ("decoder_weight", decoder_weight)):
            check_range(name, value, 0, 1e6)
        for name, value in (("snapshot_every", snapshot_every), ("dream_size", dream_size)):
            check_range(name, value, 0, 10**9)
        check_range("reach", reach, 0, 2)
        self.dreaming, self.dream_size, self.dream_current = dreaming, dream_size, dream_current
        self.snapshot_every = snapshot_every or (0 if self.clustering else ALONE)
        self.encoder_weight, self.decoder_weight = encoder_weight, decoder_weight
        self.exploration, self.reach = exploration, reach
        self.snapshot: Snapshot | None = None
        self.policy = Policy(self.n_latents, reach=reach, seed=self.seed)
        self.learning.append(self.policy)
        self.optimiser = self.fresh_optimiser()

    def learn(self, batch: Batch) -> Losses:
        """One step of the optimiser; none while it is in doubt where the batch comes from."""
        glance = self.glance(self.pixels(batch.images))
        environment = self.settled(glance)
        if environment is None:
            return self._told(self.drawn(glance, self.environments.current), doubt=1.0)
        self.close_latents(glance)
        explored, missed = self._explored(glance)
        drawn = self.drawn(explored, environment)
        loss = drawn.error + self.price(drawn, self.environments.present.capacity)
        loss = loss + self._kept(glance) + missed
        self.descend(loss, len(batch))
        self.note(explored, drawn)
        if self.snapshot_every and self.n_steps % self.snapshot_every == 0:
            self.snapshot = Snapshot(self.net, len(self.environments.known))
        return self._told(drawn, loss=float(loss.detach()))

    def arrive(self, glance: Glance, before: int) -> None:
        """Remember how everything was before any weight moves here."""
        super().arrive(glance, before)
        self.snapshot = Snapshot(self.net, sum(each.n_batches > 0 for each in self.environments.known))

    def state(self) -> State:
        """The networks' state, the environments, the snapshot."""
        snapshot = None if self.snapshot is None else self.snapshot.state()
        return {**super().state(), "policy": module_state(self.policy), "snapshot": snapshot}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        load_module(self.policy, state["policy"])
        saved = state["snapshot"]
        self.snapshot = None if saved is None else Snapshot.loaded(self.net, saved)

    def footprint(self) -> Footprint:
        """The bytes of all networks, the snapshot among them."""
        snapshot = 0 if self.snapshot is None else self.snapshot.nbytes
        return Footprint(weights=super().footprint().weights + n_bytes(self.policy) + snapshot)

    def _explored(self, glance: Glance) -> tuple[Glance, Tensor]:
        """Half of the batch moved, with latents open that vary only elsewhere; and what the policy missed."""
        free = self.environments.used_elsewhere() & ~self.environments.present.mask
        missed, half = torch.zeros(()).to(glance.pixels), len(glance.pixels) // 2
        if self.exploration == "none" or self.snapshot is None or not half or not free.any():
            return glance, missed
        rng = rng_at(self.seed, "vase move", self.n_seen)
        opened = torch.from_numpy(free).to(glance.pixels.device)
        if self.exploration == "random":
            moved = wander(glance.pixels[:half], self.reach, rng)
        else:
            encoder = self.snapshot.net.encoder
            moved, missed = imagine(self.policy, encoder, glance.pixels[:half], opened, rng)
        seen = replace(self.glance(torch.cat([moved, glance.pixels[half:]])), atypical=glance.atypical)
        seen.opened = torch.zeros_like(seen.described.mean)
        seen.opened[:half] = opened.to(seen.opened)
        return seen, missed

    def _kept(self, glance: Glance) -> Tensor:
        """D: the distance to the snapshot on dreams; for S, what teaches which batches come from where."""
        there, n = self.environments, len(glance.pixels)
        here = torch.full((n,), there.current, device=glance.pixels.device)
        loss = self._misnamed(glance.described.features, here)
        past = self._dreamable()
        if self.snapshot is None or not past:
            return loss
        dream = self.snapshot.dream(self.dream_size or n, past, rng_at(self.seed, "vase dream", self.n_steps))
        near = proximity(self.net, dream, decoder=self.decoder_weight > 0)
        self.flops += len(dream.latents) * self._flops_per_image * 4 / 3
        loss = loss + self._misnamed(near.features, dream.environments)
        return loss + self.encoder_weight * near.encoder + self.decoder_weight * near.decoder

    def _misnamed(self, features: Tensor, environments: Tensor) -> Tensor:
        if not self.clustering:
            return torch.zeros(()).to(features)
        return functional.cross_entropy(self.classifier(features.detach()), environments)

    def _dreamable(self) -> list[int]:
        n_known = self.snapshot.n_known if self.snapshot and self.dreaming else 0
        current = self.dream_current or not self.clustering
        return [s for s in range(n_known) if current or s != self.environments.current]

    def _told(self, drawn: Drawn, *, loss: float = 0.0, doubt: float = 0.0) -> Losses:
        there = self.environments
        return {
            "loss": loss,
            "reconstruction": float(drawn.error.detach()),
            "nats": float(drawn.nats.detach().sum()),
            "capacity": there.present.capacity,
            "environment": float(there.current),
            "open": float(there.present.mask.sum()),
            "doubt": doubt,
        }
