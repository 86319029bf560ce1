"""Notes below a comparison: the meaning of ±, the number of images behind scores, and ignored records."""

from collections.abc import Iterator, Sequence

from everlearn.evaluation.formatting import DASH, LEGEND
from everlearn.evaluation.intervals import wilson_interval
from everlearn.reports.comparison_columns import EACH_SEED, each_seed
from everlearn.reports.groups import Group

NEAR = 0.02
"""Accuracies this close to 0 or 1 are given as counts."""
FEW_IMAGES = 500
"""Test images per seed below which a score is uncertain by more than 0.04."""


def notes(groups: Sequence[Group]) -> list[str]:
    """All notes that apply to some groups."""
    legend = [f"{LEGEND}."] if any(len(group.runs) > 1 for group in groups) else []
    return [*legend, *_seeds(groups), *_counts(groups), *_few_images(groups), *_copies(groups)]


def _seeds(groups: Sequence[Group]) -> Iterator[str]:
    """The accuracy of every seed, if there are too few for an interval."""
    for group in groups:
        if (values := each_seed(group)) != DASH:
            yield f"{group.short}: {EACH_SEED} {values}."


def _counts(groups: Sequence[Group]) -> Iterator[str]:
    for group in groups:
        n_correct, n = group.tested
        if n and not NEAR < n_correct / n < 1 - NEAR:
            found = wilson_interval(n_correct, n)
            yield (
                f"{group.short}: {n_correct:,} of {n:,} test images correct at the end; "
                f"95 % interval {found.low:.4f} to {found.high:.4f} (Wilson)."
            )


def _few_images(groups: Sequence[Group]) -> Iterator[str]:
    for group in groups:
        n = min(run.tested[1] for run in group.runs)
        if 0 < n < FEW_IMAGES:
            found = wilson_interval(n // 2, n)
            yield (
                f"{group.short}: the accuracy of a seed is measured on {n:,} test images, which alone leaves "
                f"an uncertainty of up to ±{found.half_width:.2f}; raise evaluation.n_images."
            )


def _copies(groups: Sequence[Group]) -> Iterator[str]:
    for group in groups:
        for record in group.copies:
            yield f"{record.folder} is not counted: another record has the same settings and seeds."
