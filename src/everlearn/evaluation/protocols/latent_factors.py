"""Whether each code stands for one true factor, in every environment where factors are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.errors import BadInput, check_range
from everlearn.evaluation.disentanglement import dci, mig, sap
from everlearn.evaluation.protocols.base import MAX_IMAGES, Imagines, encoding
from everlearn.evaluation.protocols.environments import Scene, scenes, views
from everlearn.factors import FACTOR_NAMES
from everlearn.learners import Learner
from everlearn.rng import FloatArray
from everlearn.streams import Stream

FEWEST = 20
"""Images without which nothing can be said."""


@dataclass(frozen=True, eq=False)
class Factorisation:
    """How codes and factors go together in one environment; all numbers from 0 to 1.

    Attributes:
        name: of the environment, as the stream calls it.
        n_images: images it was found with.
        factors: those that vary there.
        disentanglement: does each code matter for one factor only (the D of DCI)?
        completeness: does one code alone matter for each factor (C)?
        informativeness: how much of the factors can be predicted from all codes (I, as R²)?
        mig: how much more the best code knows of a factor than the second best.
        sap: how much better the best code predicts a factor than the second best.
        importances: (n_codes, n_factors) how much each code matters for each factor.
    """

    name: str
    n_images: int
    factors: tuple[str, ...]
    disentanglement: float
    completeness: float
    informativeness: float
    mig: float
    sap: float
    importances: FloatArray

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**vars(self), "importances": self.importances.round(4).tolist()}


def disentanglement(
    learner: Learner, stream: Stream, n_tasks: int, *, size: int = 1000, batches: Sequence[int] = ()
) -> tuple[Factorisation, ...]:
    """Compare a learner's codes of test images with the factors that these really show.

    Labels are names, not numbers, and colour is left out too. Latents that are closed in an environment say
    nothing there.

    Args:
        learner: one that describes images by numbers.
        stream: what it met; at least one factor must vary somewhere.
        n_tasks: how many tasks of the stream the learner met.
        size: images of each environment.
        batches: how many it learned in each task, which tells the environments where it learned them.
    """
    coder = encoding(learner)
    check_range("size", size, FEWEST, MAX_IMAGES)
    if isinstance(learner, Imagines):
        coded = [(view.scene, view.mean) for view in views(learner, stream, n_tasks, size, batches)]
    else:
        coded = [(each, coder.encode(each.test.images)) for each in scenes(stream, n_tasks, size)]
    found = tuple(_factorised(scene, codes) for scene, codes in coded if _varying(scene))
    if not found:
        raise BadInput(f"no factor is known to vary in {stream.id}; ask about a stream of sprites, or moving")
    return found


def _varying(scene: Scene) -> tuple[str, ...]:
    factors = scene.test.factors
    if factors is None or len(scene.test) < FEWEST:
        return ()
    return tuple(name for name in FACTOR_NAMES if np.ptp(getattr(factors, name)) > 0)


def _factorised(scene: Scene, codes: FloatArray) -> Factorisation:
    names = _varying(scene)
    truth = np.stack([getattr(scene.test.factors, name) for name in names], axis=1)
    found = dci(codes, truth)
    return Factorisation(
        name=scene.name,
        n_images=len(codes),
        factors=names,
        disentanglement=found.disentanglement,
        completeness=found.completeness,
        informativeness=found.informativeness,
        mig=mig(codes, truth),
        sap=sap(codes, truth),
        importances=found.importances,
    )
