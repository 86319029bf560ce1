"""Whether a learner knows where it is, and what each of its latents stands for there."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from everlearn.chance import FloatArray
from everlearn.errors import check_range
from everlearn.evaluation.detection import Stage, detection, summed_up
from everlearn.evaluation.protocols.powers import imagining
from everlearn.evaluation.protocols.scenes import scene_of
from everlearn.evaluation.protocols.views import View, views
from everlearn.learners import Learner
from everlearn.learners.base.situated import Situated
from everlearn.streams import Batch, Stream

ABOUT_PLACE = 0.5
"""Share of a latent's variance that places must explain for it to stand for them."""


@dataclass(frozen=True)
class Latents:
    """What a learner's latents do in one environment.

    Attributes:
        name: of the environment.
        open: which of them apply there, to the learner.
        used: which of them say something there.
        place: the share of each one's variance that the place of things explains; empty where nothing moves.
    """

    name: str
    open: tuple[bool, ...]
    used: tuple[bool, ...]
    place: tuple[float, ...]

    @property
    def places(self) -> set[int]:
        """The latents that stand for places here."""
        return {n for n, share in enumerate(self.place) if share >= ABOUT_PLACE and self.used[n]}


@dataclass(frozen=True)
class Surroundings:
    """What a learner made of its environments.

    Attributes:
        stages: what it made of each stage; empty for learners that do not look for environments.
        n_batches: batches of all stages together.
        latents: what its latents do in each environment.
    """

    stages: tuple[Stage, ...]
    n_batches: int
    latents: tuple[Latents, ...]

    @property
    def shared(self) -> list[int]:
        """The latents that stand for places wherever things move."""
        moving = [each.places for each in self.latents if each.place]
        return sorted(set.intersection(*moving)) if moving else []

    @property
    def masked(self) -> list[int]:
        """Those of them that are closed wherever nothing moves."""
        still = [each.open for each in self.latents if not each.place]
        return [n for n in self.shared if not any(is_open[n] for is_open in still)]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; None for a delay that never ended."""
        stages = [asdict(stage) for stage in self.stages]
        whole = asdict(summed_up(self.stages, self.n_batches)) if self.stages else None
        latents = [asdict(each) | {"places": sorted(each.places)} for each in self.latents]
        told = {"stages": stages, "detection": whole, "latents": latents}
        plain: dict[str, Any] = _plain({**told, "shared": self.shared, "masked": self.masked})
        return plain


def surroundings(
    learner: Learner, stream: Stream, n_batches: Sequence[int], *, size: int = 1000
) -> Surroundings:
    """Ask a learner that describes what it made of the stages it met.

    Args:
        learner: who is asked; left as found.
        stream: what it met.
        n_batches: how many batches of each stage it learned from.
        size: pictures of each environment that are looked at.
    """
    check_range("size", size, 1, 1_000_000)
    names = [scene_of(task) for task in stream.take(len(n_batches))]
    stages: list[Stage] = []
    if isinstance(learner, Situated) and learner.clustering:
        stages = detection(names, n_batches, learner.environments.changes)
    seen = views(imagining(learner), stream, len(names), size, n_batches)
    return Surroundings(tuple(stages), sum(n_batches), tuple(map(_latents, seen)))


def place_shares(codes: FloatArray, batch: Batch) -> tuple[float, ...]:
    """The share of each code's variance that a smooth function of the place explains; none if nothing moves.

    The function is a polynomial of the third degree, since codes bend towards the edges.
    """
    factors = batch.factors
    if factors is None or not (np.ptp(factors.x) > 0 or np.ptp(factors.y) > 0):
        return ()
    x, y = 2 * factors.x - 1, 2 * factors.y - 1
    terms = np.stack([x**i * y**j for i in range(4) for j in range(4 - i)], axis=1)
    centred = codes - codes.mean(axis=0)
    left = centred - terms @ np.linalg.lstsq(terms, centred, rcond=None)[0]
    total = (centred**2).sum(axis=0)
    explained = 1 - np.divide((left**2).sum(axis=0), total, out=np.ones_like(total), where=total > 1e-12)
    return tuple(np.round(explained, 6).tolist())


def _latents(view: View) -> Latents:
    place = place_shares(view.mean, view.scene.test)
    return Latents(view.scene.name, tuple(view.open.tolist()), tuple(view.used.tolist()), place)


def _plain(value: Any) -> Any:
    """JSON has no number for what is not one."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
