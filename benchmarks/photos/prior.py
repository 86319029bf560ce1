"""The prior of the confidence, from answers about both development sets: `python -m benchmarks.photos.prior`.

Half of the things of each set are taught, and all are asked under some conditions. Prints the weights, and
the errors of the confidence before and after. `everlearn.recognition.calibration.PRIOR` has the weights.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from benchmarks.photos import development, development_plain
from benchmarks.photos.product import Product
from benchmarks.photos.queries import Trial
from everlearn.recognition.calibration import PRIOR, Calibration, fitted_weights
from everlearn.rng import FloatArray

CONDITIONS = ("30 % covered", "pixel noise", "textured background", "clean")
PLAIN_CONDITIONS = ("30 % covered", "clean")
SETS: dict[str, Callable[[], Iterator[Trial]]] = {
    "development": lambda: development.trials(CONDITIONS),
    "development-plain": lambda: development.trials(PLAIN_CONDITIONS, development_plain.things),
}
STRENGTH = 10.0
"""Answers, about, that the weights before are worth."""


@dataclass(frozen=True)
class Scored:
    """The scores of an answer.

    Attributes:
        group: set and condition.
        scores: as explained at `matching.Scores`.
        is_known: whether the thing was taught.
        is_right: whether, in addition, the best class is the true one.
    """

    group: str
    scores: tuple[float, ...]
    is_known: bool
    is_right: bool


def answers(name: str) -> Iterator[Scored]:
    """The scores of the answers about one set."""
    (trial,) = islice(SETS[name](), 1)
    product = Product()
    product.recogniser.teach_all(trial.images, trial.names)
    for condition, queries in trial.asked.items():
        for image, truth in zip(queries.images, queries.names, strict=True):
            (answer,) = product.recogniser.ask([image])
            yield Scored(f"{name}, {condition}", answer.scores, truth is not None, answer.best == truth)


def show(title: str, weights: FloatArray, found: list[Scored]) -> None:
    """Print the weights, and known things refused and unknown ones accepted, in percent."""
    print(f"{title}: {weights.round(1).tolist()}")
    for group in dict.fromkeys(each.group for each in found):
        same = [each for each in found if each.group == group]
        named = Calibration(weights).confidence(np.array([each.scores for each in same])) >= 0.5
        known = np.array([each.is_known for each in same])
        print(f"  {group}: {100 * (~named[known]).mean():.1f} / {100 * named[~known].mean():.1f}")


def main() -> None:
    """Ask, fit and print."""
    found = [each for name in SETS for each in answers(name)]
    scores = np.array([each.scores for each in found])
    right = np.array([each.is_right for each in found])
    show("before", PRIOR, found)
    show("after", fitted_weights(scores[right], scores[~right], STRENGTH), found)


if __name__ == "__main__":
    main()
