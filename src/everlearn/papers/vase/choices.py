"""What we chose where the paper is silent, and the other ways: the whole method but for one choice."""

from collections.abc import Iterator

from everlearn.papers.exhibit import Line
from everlearn.papers.vase.variants import Asks, Settings, elsewhere

ASKS: Asks = (("environments",),)

RISE = 0.01
"""Nats by which C rises in a step, unless a size says otherwise."""


def ways(rise: float = RISE) -> dict[str, Settings]:
    """What differs from our choices, by names that say what is done instead."""
    return {
        "as chosen": {},
        "gamma 100": {"learner.gamma": 100.0},
        "absolute": {"learner.penalty": "absolute", "learner.gamma": 100.0},
        "all nats count": {"learner.informative": False},
        "C goes on": {"learner.capacity_restarts": False},
        "twice the C": {"learner.capacity_step": 2 * rise, "learner.capacity_most": 50.0},
        "whole errors": {"learner.excess": False},
        "best drawing selects": {"learner.selector": "reconstruction"},
        "spare ones close": {"learner.mask_spare": True},
        "masks never settle": {"learner.settle": 1_000_000},
        "noise tells use": {"learner.used_by": "noise"},
        "no warm-up": {"learner.warm_up": 0},
        "snapshots on the way": {"learner.snapshot_every": 500},
        "dreams of the present": {"learner.snapshot_every": 500, "learner.dream_current": True},
    }


NAMES = tuple(f"SDA, {way}" for way in ways())
ABOUT = (
    "Each row is the whole method with one choice made otherwise, in stages of a third of the length, in "
    "which C rises less far. gamma 100 is what others have tried; absolute has it too, and no square; all "
    "nats count even if they are the same for all images; C goes on from one environment to the next "
    "instead of beginning again; twice the C rises twice as fast, and up to 50 nats; whole errors of "
    "drawings, instead of what is above the least possible, tell what is new; the best drawing selects "
    "the environment instead of the classifier; spare latents close where they are atypical, as the "
    "paper's rule has it; masks never settle; what drawings do not tolerate noise on is in use, instead "
    "of what tells images apart; no small first steps after an arrival; snapshots every 500 steps "
    "instead of on arrival; and dreams of the present environment, too, which only such snapshots know. "
    "Rows with the same figures are runs that came to the same decisions, and so learned the same."
)


def choices(folder: str, settings: Settings, asks: Asks = ASKS, stage: float | None = None) -> Iterator[Line]:
    """A line for the method as chosen, and one for each other way.

    Args:
        folder: of their records.
        settings: what they have in common.
        asks: what they are asked afterwards.
        stage: minutes that a stage takes on one core, if that is known.
    """
    for way, own in ways(settings.get("learner.capacity_step", RISE)).items():
        yield from elsewhere(folder, way, ("SDA",), {**settings, **own}, asks, stage=stage)
