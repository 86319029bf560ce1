"""Score cards with invented scores."""

from everlearn.reports.score_card import NOT_APPLICABLE, Score, ScoreCard, measures
from everlearn.runs.sweep.suite import SIZES


def card_of(name: str, accuracy: float, size: str = "small", seeds: int = 2) -> ScoreCard:
    """A card of which every score is near an accuracy, without a one-shot score."""
    values = tuple(accuracy + 0.01 * seed for seed in range(seeds))
    scores = {key: Score(values) for key in measures(SIZES[size].lengths)}
    scores["one_shot"] = Score((), NOT_APPLICABLE, f"{name} has no exemplar memory that can be edited")
    return ScoreCard(
        name=name, learner=name, size=size, settings={}, supervision="labelled images",
        seeds=tuple(range(seeds)), scores=scores,
    )  # fmt: skip
