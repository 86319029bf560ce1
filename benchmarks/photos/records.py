"""Results of a method on a query set, as JSON under results/photos."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from rich.progress import track

import everlearn
from benchmarks.photos.methods import make_method
from benchmarks.photos.queries import PRODUCT, Answer, Queries, QuerySet, Trial
from everlearn.evaluation import wilson_interval
from everlearn.evaluation.intervals import Interval

RESULTS = Path(__file__).parents[2] / "results" / "photos"
BATCH = 256
ACCEPTED = 0.05
MAX_SIFT_PAIRS = 4_000_000
SOURCES = ("recognition/*.py", "streams/images/*.py", "networks/inference.py")
"""The modules of the package that an answer is computed by."""


@dataclass(frozen=True)
class Result:
    """Counts of one condition of one trial.

    Attributes:
        trial: what was taught.
        seed: of the trial.
        condition: how it was asked.
        n_known: queries about taught things.
        n_best: of these, how often the best name was the true one.
        n_named: of these, how often the true name was given and not "unknown".
        n_refused: of these, how often the answer was "unknown".
        n_unknown: queries about things that were not taught.
        n_accepted: of these, how often a name was given.
        auroc: probability that a known thing has a higher confidence than an unknown one; None without both.
        refused_at_5: share of known things refused at the threshold that accepts 5 % of the unknown ones.
        version: of the product; empty for baselines, and for the product before versions were stored.
    """

    trial: str
    seed: int
    condition: str
    n_known: int
    n_best: int
    n_named: int
    n_refused: int
    n_unknown: int
    n_accepted: int
    auroc: float | None
    refused_at_5: float | None
    version: str = ""


def evaluate(method: str, query_set: QuerySet, stored: Sequence[Result] = ()) -> Iterator[Result]:
    """Teach and ask a method in all trials of a set, without the conditions that are stored.

    Of trials with the same name and seed, the first ones are stored. SIFT is run only where it ends within
    minutes.
    """
    n_stored = Counter((result.trial, result.seed, result.condition) for result in stored)
    n_seen: Counter[tuple[str, int, str]] = Counter()
    for trial in query_set.trials():
        n_seen.update((trial.name, trial.seed, name) for name in trial.asked)
        keys = {name: (trial.name, trial.seed, name) for name in trial.asked}
        missing = [name for name, key in keys.items() if n_seen[key] > n_stored[key]]
        if missing and (method != "sift" or _n_pairs(trial) < MAX_SIFT_PAIRS):
            yield from _evaluate(method, trial, missing, query_set)


def _n_pairs(trial: Trial) -> int:
    return len(trial.images) * sum(len(queries.images) for queries in trial.asked.values())


def _evaluate(name: str, trial: Trial, conditions: Sequence[str], query_set: QuerySet) -> Iterator[Result]:
    method = make_method(name, query_set)
    method.teach(trial.images, trial.names)
    for condition in conditions:
        queries = query_set.asked(trial.asked[condition], name)
        starts = range(0, len(queries.images), BATCH)
        label = f"{name}: {trial.name} {trial.seed}, {condition}"
        batches = [method.ask(queries.images[start : start + BATCH]) for start in track(starts, label)]
        found = summary(trial, condition, queries, [answer for batch in batches for answer in batch])
        yield replace(found, version=version() if name.startswith(PRODUCT) else "")


def summary(trial: Trial, condition: str, queries: Queries, answers: Sequence[Answer]) -> Result:
    """Counts of the answers to the queries of one condition."""
    pairs = list(zip(answers, queries.names, strict=True))
    known = [(answer, name) for answer, name in pairs if name is not None]
    unknown = [answer for answer, name in pairs if name is None]
    area, refused = _separation([each.confidence for each, _ in known], [each.confidence for each in unknown])
    return Result(
        trial.name, trial.seed, condition, len(known),
        n_best=sum(answer.best == name for answer, name in known),
        n_named=sum(answer.name == name for answer, name in known),
        n_refused=sum(answer.name is None for answer, _ in known),
        n_unknown=len(unknown),
        n_accepted=sum(answer.name is not None for answer in unknown),
        auroc=area, refused_at_5=refused,
    )  # fmt: skip


def _separation(known: list[float], unknown: list[float]) -> tuple[float | None, float | None]:
    """The area under the ROC curve, and known things refused if 5 % of the unknown ones are accepted."""
    if not known or not unknown:
        return None, None
    high, low = np.array(known), np.sort(unknown)
    below, not_above = (np.searchsorted(low, high, side) for side in ("left", "right"))
    threshold = np.quantile(low, 1 - ACCEPTED)
    area = round(float(((below + not_above) / 2 / len(low)).mean()), 4)
    return area, round(float((high <= threshold).mean()), 4)


@cache
def version() -> str:
    """The version of the product: a hash of the modules that compute an answer."""
    package = Path(everlearn.__file__).parent
    files = [file for pattern in SOURCES for file in sorted(package.glob(pattern))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def merged(new: Sequence[Result], old: Sequence[Result]) -> list[Result]:
    """New results, and old ones of conditions that were not evaluated again."""
    done = {(each.trial, each.seed, each.condition) for each in new}
    return [*new, *(each for each in old if (each.trial, each.seed, each.condition) not in done)]


def path_of(query_set: str, method: str) -> Path:
    """The file of the results of a method on a set."""
    return RESULTS / f"{query_set}-{method.replace(', ', '-')}.json"


def store(query_set: str, method: str, results: Sequence[Result]) -> None:
    """Write results."""
    path = path_of(query_set, method)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n ".join(json.dumps(asdict(result)) for result in results)
    path.write_text(f'{{"set": "{query_set}", "method": "{method}", "results": [\n {rows}\n]}}\n', "utf-8")


def load(query_set: str, method: str) -> list[Result]:
    """Stored results; none if it was not run."""
    path = path_of(query_set, method)
    if not path.is_file():
        return []
    return [Result(**row) for row in json.loads(path.read_text("utf-8"))["results"]]


def accuracy(results: Sequence[Result]) -> Interval:
    """The share of queries about taught things whose best name is the true one, over all seeds."""
    return wilson_interval(
        sum(result.n_best for result in results), sum(result.n_known for result in results)
    )
