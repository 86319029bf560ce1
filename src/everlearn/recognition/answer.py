"""The result of recognising an image."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from everlearn.recognition.calibration import KNOWN, PROBABLY
from everlearn.recognition.ranking import Match, Scores
from everlearn.recognition.unknowns import UnknownGroup
from everlearn.rng import FloatArray

Status = Literal["known", "probably", "unknown"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What an image shows.

    Example:
        >>> Answer(name=None, best="mug", status="unknown", confidence=0.2).best
        'mug'

    Attributes:
        name: the name of the class; None if it is unknown.
        best: the most similar class, known or not; None if the memory is empty.
        status: "known", "probably" or "unknown".
        confidence: calibrated probability that the best class is right.
        runner_up: the second most similar class; None if there is none.
        method: "alignment" if the exemplar was found in the image pixel by pixel, else "features".
        scores: inputs of the confidence; see `ranking.Scores`.
        transform: (3, 3) from the exemplar's frame, -1 to 1, to pixels of the image.
        group: the group of unknown images to which `ask_and_keep` has added the image.
    """

    name: str | None
    best: str | None
    status: Status
    confidence: float
    runner_up: str | None = None
    method: Literal["alignment", "features", "none"] = "none"
    scores: Scores = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    transform: FloatArray | None = None
    group: UnknownGroup | None = None

    @classmethod
    def of(cls, found: Match, confidence: float, names: Mapping[int, str]) -> "Answer":
        """The answer for a match; `names` maps labels to names of classes."""
        status: Status = (
            "known" if confidence >= KNOWN else "probably" if confidence >= PROBABLY else "unknown"
        )
        best = names[found.label]
        return cls(
            name=None if status == "unknown" else best,
            best=best,
            status=status,
            confidence=confidence,
            runner_up=None if found.runner_up is None else names[found.runner_up],
            method="alignment" if found.is_verified else "features",
            scores=found.scores,
            transform=found.transform,
        )
