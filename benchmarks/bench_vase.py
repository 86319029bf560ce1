"""What a step of VASE costs, with dreams, beside a bare PyTorch loop of the same networks and losses."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial

import numpy as np
import torch
from torch.nn import functional

from benchmarks.table import Row, interleaved
from everlearn.learners.vase import Vase
from everlearn.networks.vae import VAE
from everlearn.streams import Batch, sprites

SIZE, BATCH, LATENTS, ROUNDS = 32, 64, 24, 30
GOAL = 1.15
WHITE = 200
UNTIL_KNOWN = 100
"""Batches in the second environment; in the first ones it is drawn once more, to see whether it is new."""


def run() -> list[Row]:
    """In CPU time of one thread, once a second environment is known and the first is dreamed of."""
    torch.set_num_threads(1)
    shapes = sprites(image_size=SIZE, factor_values=3).task(0).train[:BATCH]
    first, second = (_black_and_white(shapes, negative=negative) for negative in (False, True))
    rows = []
    for size in ("tiny", "small"):
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
                f"{what}, beside a bare loop",
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


def _in_a_second_environment(size: str, first: Batch, second: Batch) -> Vase:
    """Past the steps in which no new environment is found, then in the second until it is known by sight."""
    learner = Vase(image_shape=(SIZE, SIZE), size=size, n_latents=LATENTS)
    for batch in [first] * (learner.environments.rules.guard + 50) + [second] * UNTIL_KNOWN:
        learner.learn(batch)
    if learner.environments.current != 1 or learner.chances(second.images).mean(0).argmax() != 1:
        raise RuntimeError("the second environment was not noticed, or is still taken for the first")
    return learner


def _bare(size: str, batch: Batch) -> Callable[[], float]:
    """The shortest loop one would write for the same networks, the capacity loss and the dreams."""
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
        nats = 0.5 * (mean**2 + log.exp() - 1 - log).sum(1).mean()
        loss = functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") / BATCH
        with torch.no_grad():
            z = torch.randn(BATCH, LATENTS)
            old_logits = old.decoder(z, there)
            dreams = old_logits.sigmoid()
            old_mean, old_log, _ = old.encoder(dreams)
        dream_mean, dream_log, dream_features = net.encoder(dreams)
        apart = (dream_mean - old_mean) ** 2 + ((dream_log / 2).exp() - (old_log / 2).exp()) ** 2
        again = net.decoder(z, there)
        drift = functional.softplus(again) - functional.softplus(old_logits) + dreams * (old_logits - again)
        loss = loss + 100 * (nats - 5) ** 2 + (apart.sum() + drift.sum()) / BATCH
        loss = loss + functional.cross_entropy(classifier(features.detach()), here)
        loss = loss + functional.cross_entropy(classifier(dream_features.detach()), there)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return float(loss.detach())

    return step
