"""Effect of settings of the product on the development set: `python -m benchmarks.photos.sensitivity`.

Results are stored after each setting; those that are stored are not computed again.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.photos import development
from benchmarks.photos.archives import Pixels
from benchmarks.photos.product import Product
from benchmarks.photos.queries import Answer, Queries, Trial
from benchmarks.photos.records import RESULTS, Result, summary
from everlearn.recognition import matching

CONDITIONS = ("clean", "textured background", "pixel noise", "30 % covered")
THRESHOLDS = (0.3, 0.7, 0.85, 0.95)
"""Confidences from which on a name is given; the default is 0.5."""
OTHER_SEED = 200
"""Of the further images that are taught."""
DEFAULT = "default"


@dataclass(frozen=True)
class Variant:
    """A setting that differs from the default.

    Attributes:
        setting: what is varied, and `value` its value, as on the page.
        opened: arguments of `Recogniser.open`.
        constants: of `everlearn.recognition.matching`.
        exemplars: images that each thing is taught with.
        size: pixels per side of what the network sees; None for the default; only 64 fits the masks, too.
    """

    setting: str
    value: str
    opened: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    exemplars: int = 1
    size: int | None = None


FEWER = {"N_LOCATED": 4, "N_ALIGNED": 3, "N_PROPOSED": 12, "N_REFINED": 5, "N_DESCRIBED": 3}
MORE = {"N_LOCATED": 16, "N_ALIGNED": 12, "N_PROPOSED": 48, "N_REFINED": 20, "N_DESCRIBED": 10}
VARIANTS = (
    Variant(DEFAULT, "one exemplar, all candidates, 128 px, efficientnet-lite0, threshold 0.5"),
    Variant("backbone", "mobilenet-v1", {"features": "mobilenet-v1"}),
    Variant("backbone", "none (gradients)", {"features": "gradients"}),
    Variant("candidates", "half as many", constants=FEWER),
    Variant("candidates", "twice as many", constants=MORE),
    Variant("image size", "64 px", size=64),
    Variant("exemplars", "2", exemplars=2),
    Variant("exemplars", "4", exemplars=4),
    Variant("exemplars", "4, only the best counts", {"combine": "best"}, exemplars=4),
    Variant("k of 4 exemplars", "2, first", {"keep": 2, "policy": "first"}, exemplars=4),
    Variant("k of 4 exemplars", "2, random", {"keep": 2, "policy": "random"}, exemplars=4),
    Variant("k of 4 exemplars", "2, herding", {"keep": 2, "policy": "herding"}, exemplars=4),
)


@dataclass(frozen=True)
class Row:
    """The result of one condition with one setting, and the CPU time of an answer in milliseconds."""

    setting: str
    value: str
    milliseconds: float
    result: Result


def run(variant: Variant) -> list[Row]:
    """Teach half of the things, and ask all of them once under each condition."""
    (trial, *_) = development.trials(CONDITIONS)
    names = list(development.things())
    with _constants(variant.constants):
        product = Product(**variant.opened)
        if variant.size is not None:
            product.recogniser.features.size = variant.size
        images, taught = _exemplars(trial, variant.exemplars)
        product.recogniser.teach_all(images, taught)
        rows = []
        for condition, queries in trial.asked.items():
            some = Queries(queries.images[:: development.POSES], queries.names[:: development.POSES])
            start = time.process_time()
            answers = product.ask(some.images)
            milliseconds = round(1000 * (time.process_time() - start) / len(names), 1)
            for setting, value, given in _thresholds(variant, answers):
                rows.append(Row(setting, value, milliseconds, summary(trial, condition, some, given)))
    return rows


def _thresholds(variant: Variant, answers: list[Answer]) -> Iterator[tuple[str, str, list[Answer]]]:
    """The answers; of the default setting also the answers with other thresholds."""
    yield variant.setting, variant.value, answers
    for threshold in THRESHOLDS if variant.setting == DEFAULT else ():
        given = [replace(a, name=a.best if a.confidence >= threshold else None) for a in answers]
        yield "threshold", f"{threshold:g}", given


def _exemplars(trial: Trial, n: int) -> tuple[list[Pixels], list[str]]:
    """The taught images, and n - 1 further ones of each thing, in other poses on white."""
    names = list(development.things())
    images, taught = list(trial.images), list(trial.names)
    for pose in range(n - 1):
        make = partial(development.query, OTHER_SEED, "clean")
        images += [make(names.index(name), pose) for name in trial.names]
        taught += trial.names
    return images, taught


@contextmanager
def _constants(changed: dict[str, int]) -> Iterator[None]:
    before = {name: getattr(matching, name) for name in changed}
    for name, value in changed.items():
        setattr(matching, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(matching, name, value)


def path() -> Path:
    """The file of the results."""
    return RESULTS / "sensitivity.json"


def load() -> list[Row]:
    """Stored results."""
    if not path().is_file():
        return []
    rows = json.loads(path().read_text("utf-8"))
    return [Row(**{**row, "result": Result(**row["result"])}) for row in rows]


def store(rows: Sequence[Row]) -> None:
    """Write results."""
    text = ",\n ".join(json.dumps(asdict(row)) for row in rows)
    path().write_text(f"[\n {text}\n]\n", "utf-8")


def table() -> str:
    """A row for each setting: accuracy, errors about unknown things, AUROC and time, over all conditions."""
    rows = load()
    if not rows:
        return "Not run yet."
    lines = ["| setting | value | right | refused / accepted | AUROC | ms |", f"|{'---|' * 6}"]
    for setting, value in dict.fromkeys((row.setting, row.value) for row in rows):
        same = [row for row in rows if (row.setting, row.value) == (setting, value)]
        lines.append(f"| {setting} | {value} | {' | '.join(_cells(same))} |")
    return "\n".join(lines)


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    def share(count: Callable[[Result], int], of: Callable[[Result], int]) -> float:
        return sum(count(row.result) for row in rows) / sum(of(row.result) for row in rows)

    yield f"{share(lambda r: r.n_best, lambda r: r.n_known):.3f}"
    refused, accepted = (
        share(lambda r: r.n_refused, lambda r: r.n_known),
        share(lambda r: r.n_accepted, lambda r: r.n_unknown),
    )
    yield f"{100 * refused:.1f} / {100 * accepted:.1f}"
    yield f"{np.mean([row.result.auroc for row in rows if row.result.auroc is not None]):.3f}"
    yield f"{np.mean([row.milliseconds for row in rows]):.0f}"


def main() -> None:
    """Run and store what is missing."""
    rows = load()
    for variant in VARIANTS:
        if not any((row.setting, row.value) == (variant.setting, variant.value) for row in rows):
            rows += run(variant)
            store(rows)
            print(variant.setting, variant.value, flush=True)


if __name__ == "__main__":
    main()
