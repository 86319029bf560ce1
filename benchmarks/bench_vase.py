"""Cost of a VASE step with generative replay, beside a bare PyTorch loop of the same networks and losses."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch.nn import functional

from benchmarks.table import Row, interleaved
from everlearn.learners import VASE
from everlearn.networks.vae import VAE
from everlearn.streams import Batch, sprites

SIZE, BATCH, LATENTS, ROUNDS = 32, 64, 24, 30
GOAL = 1.15
WHITE = 200
UNTIL_KNOWN = 100
"""Batches of the second environment before measuring."""


def run() -> list[Row]:
    """CPU time of one thread, in the second environment with generative replay of the first."""
    torch.set_num_threads(1)
    shapes = sprites(image_size=SIZE, factor_values=3).task(0).train[:BATCH]
    first, second = (_black_and_white(shapes, negative=negative) for negative in (False, True))
    rows = []
    sizes: tuple[Literal["tiny", "small"], ...] = ("tiny", "small")
    for size in sizes:
        learner = _in_a_second_environment(size, first, second)
        works: dict[str, Callable[[], object]] = {
            "ours": partial(learner.learn, second),
            "bare": _bare(size, second),
        }
        seconds = interleaved(works, ROUNDS)
        ratios = seconds["ours"] / seconds["bare"]
        low, high = np.percentile(ratios, [10, 90])
        what = f"step of vase, {size}, {SIZE} px"
        rows += [
            Row(what, 1000 * float(np.median(seconds["ours"])), "ms"),
            Row(
                f"{what} / bare PyTorch loop",
                float(np.median(ratios)),
                "x",
                (float(low), float(high)),
                GOAL,
                True,
            ),
        ]
    return rows


def _black_and_white(batch: Batch, *, negative: bool) -> Batch:
    return Batch(np.where((batch.images > WHITE) != negative, 255, 0).astype(np.uint8), batch.labels)


def _in_a_second_environment(size: Literal["tiny", "small"], first: Batch, second: Batch) -> VASE:
    """A learner past the cooldown of the first environment and trained on the second."""
    learner = VASE(image_shape=(SIZE, SIZE), size=size, n_latents=LATENTS, snapshot_every=350)
    for batch in [first] * (learner.cooldown + 50) + [second] * UNTIL_KNOWN:
        learner.learn(batch)
    probabilities = learner.environment_probabilities(second.images).mean(0)
    if learner.environments.index != 1 or probabilities.argmax() != 1:
        raise RuntimeError("the second environment was not noticed, or is still taken for the first")
    return learner


def _bare(size: str, batch: Batch) -> Callable[[], float]:
    """A minimal loop with the same networks, capacity loss and generative replay."""
    net = VAE((SIZE, SIZE), size=size, n_latents=LATENTS)
    old = deepcopy(net).requires_grad_(False)
    classifier = torch.nn.Linear(256, 7)
    optimiser = torch.optim.Adam([*net.parameters(), *classifier.parameters()], lr=1e-3, fused=True)
    here, there = torch.ones(BATCH, dtype=torch.long), torch.zeros(BATCH, dtype=torch.long)

    def step() -> float:
        x = (torch.from_numpy(batch.images).unsqueeze(1).float() / 255).contiguous(
            memory_format=torch.channels_last
        )
        mean, log, features = net.encoder(x)
        logits = net.decoder(mean + (log / 2).exp() * torch.randn(BATCH, LATENTS), here)
        kl = 0.5 * (mean**2 + log.exp() - 1 - log).sum(1).mean()
        loss = functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") / BATCH
        with torch.no_grad():
            z = torch.randn(BATCH, LATENTS)
            old_logits = old.decoder(z, there)
            generated = old_logits.sigmoid()
            old_mean, old_log, _ = old.encoder(generated)
        replay_mean, replay_log, replay_features = net.encoder(generated)
        apart = (replay_mean - old_mean) ** 2 + ((replay_log / 2).exp() - (old_log / 2).exp()) ** 2
        again = net.decoder(z, there)
        drift = (
            functional.softplus(again) - functional.softplus(old_logits) + generated * (old_logits - again)
        )
        loss = loss + 100 * (kl - 5) ** 2 + (apart.sum() + drift.sum()) / BATCH
        loss = loss + functional.cross_entropy(classifier(features.detach()), here)
        loss = loss + functional.cross_entropy(classifier(replay_features.detach()), there)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return float(loss.detach())

    return step
