"""Score cards: the results of one learner in the suite of the leaderboard, as JSON and as a table."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any, NamedTuple

from everlearn import files
from everlearn.errors import BadInput
from everlearn.evaluation import formatting
from everlearn.evaluation.formatting import Format, format_amount, format_score
from everlearn.evaluation.intervals import NOT_NEGATIVE, SIGNED_UNIT, UNIT, Bounds, interval_over
from everlearn.reports.run_results import RunResults
from everlearn.runs.run_record import Record, has_record
from everlearn.runs.sweep.suite import LONG, NUISANCES, SUITE, WITHIN_TASKS, SuiteEntry, get_size
from everlearn.settings import read_json

CARD = "card.json"
MEASURED, NOT_APPLICABLE, FAILED, NOT_RUN = "measured", "not applicable", "failed", "not run"

Read = Callable[[RunResults], float | None]


class Measure(NamedTuple):
    """A row of a score card, and a column of the leaderboard."""

    heading: str
    meaning: str
    run: str  # the run of the suite that it comes from
    read: Read  # None or NaN if the record does not have it
    form: Format = format_score
    bounds: Bounds = UNIT
    protocol: str = ""  # whose result it is
    is_cost: bool = False  # lower is better


def _protocol(name: str, *keys: str | int) -> Read:
    """Reads a number from the result of a protocol."""

    def read(run: RunResults) -> float | None:
        value: Any = run.protocol_results[name]
        for key in keys:
            value = value[key]
        return None if value is None else float(value)

    return read


def _measure(name: str) -> Read:
    return lambda run: run.measures()[name]


OTHERS: Mapping[str, Measure] = {
    "forgetting": Measure(
        "forgetting", "mean drop of earlier tasks from their best, at the end", LONG,
        _measure("forgetting"), bounds=SIGNED_UNIT, is_cost=True,
    ),
    "nuisances": Measure(
        "nuisances", "accuracy at the end of a short run with noise, texture, lighting, occluder and "
        "clutter", NUISANCES, _measure("average_accuracy"),
    ),
    "one_shot": Measure(
        "one-shot", "accuracy on new classes that are stored from one image each, among all classes",
        LONG, _protocol("one-shot", "shots", 0, "generalized"), protocol="one-shot",
    ),
    "open_set": Measure(
        "open-set", "area under the ROC curve of novelty scores, new against known classes", LONG,
        _protocol("open-set", "roc", "area"), protocol="open-set",
    ),
    "worst_case": Measure(
        "worst case", "worst-case accuracy of a short run that is evaluated within tasks (stability gap)",
        WITHIN_TASKS, _measure("worst_case_accuracy"),
    ),
    "bytes": Measure(
        "bytes", "weights and memory at the end of the long run", LONG,
        _measure("bytes"), formatting.format_bytes, NOT_NEGATIVE,
        is_cost=True,
    ),
    "flops": Measure(
        "FLOPs", "floating-point operations of training in the long run", LONG,
        _measure("flops"), format_amount, NOT_NEGATIVE, is_cost=True,
    ),
    "images": Measure(
        "images", "training images of the stream in the long run, without replayed ones", LONG,
        _measure("images"), format_amount, NOT_NEGATIVE, is_cost=True,
    ),
    "seconds": Measure(
        "time", "duration of the long run on its machine", LONG, _measure("seconds"),
        formatting.format_duration, NOT_NEGATIVE, is_cost=True,
    ),
    "answer_flops": Measure(
        "answer FLOPs", "floating-point operations of one prediction in torch", LONG,
        _protocol("answer-cost", "flops"), format_amount, NOT_NEGATIVE, "answer-cost",
        is_cost=True,
    ),
    "answer_ms": Measure(
        "answer ms", "milliseconds of one prediction in a batch, on its machine", LONG,
        _protocol("answer-cost", "milliseconds"), formatting.format_error, NOT_NEGATIVE,
        "answer-cost", is_cost=True,
    ),
}  # fmt: skip
"""All measures but the accuracies of the long run."""


def measures(lengths: Sequence[int]) -> dict[str, Measure]:
    """All rows of a score card by key; the long run is scored after these numbers of tasks.

    Example:
        >>> [each.heading for each in measures((10, 100, 500)).values()][:4]
        ['10 tasks', '100 tasks', '500 tasks', 'forgetting']
    """
    meaning = "mean accuracy on all classes so far after {} tasks"
    accuracies = {
        key: Measure(f"{n} tasks", meaning.format(n), LONG, _accuracy_after(n))
        for key, n in zip(("short", "middle", "long"), lengths, strict=True)
    }
    return {**accuracies, **OTHERS}


def _accuracy_after(n_tasks: int) -> Read:
    return lambda run: run.accuracy().get(n_tasks)


@dataclass(frozen=True)
class Score:
    """The values of one measure, one per seed; seeds without a value are left out."""

    values: Sequence[float] = ()
    status: str = MEASURED
    reason: str = ""  # why it is not measured

    def text(self, measure: Measure) -> str:
        """Mean and margin over seeds, or the status if it is not measured."""
        if self.status != MEASURED:
            return self.status
        return measure.form(interval_over(self.values, measure.bounds))

    @property
    def mean(self) -> float | None:
        """Mean over seeds; None without values."""
        return math.fsum(self.values) / len(self.values) if self.values else None


@dataclass(frozen=True)
class ScoreCard:
    """All scores of a learner."""

    name: str
    learner: str
    size: str
    settings: Mapping[str, Any]  # of the learner that differ from its defaults
    supervision: str
    seeds: Sequence[int]
    scores: Mapping[str, Score]
    suite: str = SUITE
    version: str = field(default_factory=lambda: package_version("everlearn"))
    machine: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)  # of the records, by the name of their folder

    @property
    def measures(self) -> dict[str, Measure]:
        """The rows of this card."""
        return measures(get_size(self.size).lengths)

    def rows(self) -> list[tuple[str, str, str]]:
        """Heading, value and meaning (or why there is no value) of each score."""
        pairs = (
            (measure, self.scores.get(key, Score((), NOT_RUN))) for key, measure in self.measures.items()
        )
        return [(each.heading, score.text(each), score.reason or each.meaning) for each, score in pairs]

    def to_json(self) -> dict[str, Any]:
        """The card as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "ScoreCard":
        """The card that `to_json` wrote."""
        try:
            scores = {
                key: Score(tuple(map(float, each["values"])), str(each["status"]), str(each["reason"]))
                for key, each in values["scores"].items()
            }
            card = cls(**{**values, "scores": scores})
            return replace(card, name=str(card.name), seeds=tuple(map(int, card.seeds)))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise BadInput(f"this is no score card ({error}); repeat `everlearn benchmark`") from None

    def write(self, folder: Path) -> Path:
        """Write the card to its folder."""
        files.make_folder(folder)
        files.write(folder / CARD, json.dumps(self.to_json(), indent=1, allow_nan=False).encode() + b"\n")
        return folder / CARD


def make_card(
    entry: SuiteEntry, root: Path, n_seeds: int, failures: Mapping[str, str] | None = None
) -> ScoreCard:
    """The score card of an entry from its records; `failures` maps folders of records to reasons."""
    jobs = entry.jobs(root, n_seeds)
    finished = {
        job.folder.name: RunResults.from_record(Record(job.folder))
        for job in jobs
        if has_record(job.folder) and Record(job.folder).is_finished
    }
    reasons = {Path(folder).name: reason for folder, reason in (failures or {}).items()}
    scores = {
        key: _score(entry, measure, _runs(finished, measure.run), dict(_runs(reasons, measure.run)))
        for key, measure in measures(entry.size.lengths).items()
    }
    first = next(iter(finished.values()), None)
    return ScoreCard(
        name=entry.title,
        learner=entry.learner,
        size=entry.size.name,
        settings=entry.settings,
        supervision=first.started["supervision"] if first else "",
        seeds=tuple(range(n_seeds)),
        scores=scores,
        machine=first.record.machine if first else {},
        digests={name: run.record.digest for name, run in finished.items()},
    )


def _runs(by_folder: Mapping[str, Any], run: str) -> Iterator[tuple[str, Any]]:
    return ((name, each) for name, each in by_folder.items() if name.startswith(f"{run}-seed-"))


def _score(
    entry: SuiteEntry, measure: Measure, runs: Iterator[tuple[str, RunResults]], reasons: Mapping[str, str]
) -> Score:
    if not entry.is_classifier:
        return Score((), NOT_APPLICABLE, f"{entry.learner} learns no labels")
    if reason := entry.not_applicable().get(measure.protocol):
        return Score((), NOT_APPLICABLE, reason)
    evaluated = [run for _, run in runs if not measure.protocol or measure.protocol in run.protocol_results]
    values = [value for value in map(measure.read, evaluated) if value is not None and not math.isnan(value)]
    if reasons and len(values) < len(reasons) + len(evaluated):
        return Score(tuple(values), FAILED, next(iter(reasons.values())))
    return Score(tuple(map(float, values)), MEASURED if evaluated else NOT_RUN)


def read_cards(folder: Path) -> list[ScoreCard]:
    """All score cards of a folder that `everlearn benchmark` wrote to, by size and name."""
    return [_read(path) for path in sorted(folder.glob(f"*/*/{CARD}"))]


def _read(path: Path) -> ScoreCard:
    try:
        return ScoreCard.from_json(read_json(path.read_text("utf-8"), str(path)))
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no score card; repeat `everlearn benchmark`") from None
