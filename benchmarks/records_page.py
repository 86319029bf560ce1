"""The index of all committed records, docs/records.md: `python -m benchmarks.records_page`."""

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from everlearn.evaluation.formatting import format_amount, format_duration
from everlearn.reports import RunResults, summary
from everlearn.runs import Record

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "records.md"
FOLDERS = {
    "dcl": "DCL, its ablations and other streams ([page](dcl.md))",
    "sprites": "Infinite dSprites: the other methods ([page](results.md))",
    "short": "Infinite dSprites: short runs that are evaluated within tasks ([page](results.md))",
    "rivals": "Split-MNIST and Split-Fashion beside published results ([page](rivals.md))",
    "gnr": "Generative negative replay on sprites ([page](gnr.md))",
    "gnr-real": "Generative negative replay on real images ([page](gnr.md))",
    "vase": "VASE ([page](vase.md))",
}
INTRODUCTION = """# Records

All {n} runs behind the result pages, written by `python -m benchmarks.records_page` from the records in
`results/`. A record is repeated by its specification, `OMP_NUM_THREADS=1 everlearn run --spec
results/NAME/spec.json` ([what is exact](reproduction.md#from-a-record-to-its-numbers)), and shown by
`everlearn show results/NAME`. Committed records have no checkpoints, and losses only of the first batch of
each task; `everlearn pack RECORD... --out FILE.tar.gz` writes whole records to one file, and
`everlearn unpack FILE.tar.gz` restores them.

Accuracy is the average over all tasks seen, at the end of the run, one value for each seed; unsupervised
learners have the accuracy of their probes instead. Time is the mean over seeds."""


def title_and_seed(record: Record) -> tuple[str, str]:
    """The name of a record without its seed, and the seed.

    Example:
        >>> title_and_seed(Record("results/dcl/500-tasks-seed-0"))
        ('500-tasks', '0')
    """
    found = re.fullmatch(r"(.*?)(?:-seed-(\d+))?", record.folder.name)
    assert found is not None
    return found[1], found[2] or str(record.spec.get("seed", 0))


def records(folder: Path) -> list[Record]:
    """The records of a folder, and of folders in it, by name and seed."""
    found = [Record(path.parent) for path in folder.rglob("spec.json")]
    return sorted(found, key=lambda each: (each.folder.parent, *title_and_seed(each)))


def table(folder: Path) -> str:
    """One row for each run, with all its seeds, in Markdown."""
    lines = ["| run | learner | seeds | tasks | accuracy | time | FLOPs |", "|---|---|---|---|---|---|---|"]
    found = groupby(records(folder), key=lambda each: (each.folder.parent, title_and_seed(each)[0]))
    return "\n".join([*lines, *(row(title, list(group)) for (_, title), group in found)])


def row(title: str, group: list[Record]) -> str:
    """The row of a run with some seeds."""
    data = [summary(RunResults.from_record(each)) for each in group]
    seeds = ", ".join(title_and_seed(each)[1] for each in group)
    tasks = sorted({each["tasks"] for each in data})
    cells = [
        f"`{group[0].folder.relative_to(ROOT)}`" if len(group) == 1 else f"`{_pattern(title, group)}`",
        data[0]["learner"],
        seeds,
        " to ".join(f"{n:,}" for n in dict.fromkeys((tasks[0], tasks[-1]))),
        ", ".join(accuracy(each) for each in data),
        format_duration(sum(each["seconds"] for each in data) / len(data)),
        format_amount(data[0]["flops"], ""),
    ]
    return f"| {' | '.join(cells)} |"


def _pattern(title: str, group: list[Record]) -> str:
    return f"{group[0].folder.parent.relative_to(ROOT)}/{title}-seed-*"


def accuracy(data: dict[str, Any]) -> str:
    """The average accuracy of a run, or that of its probes."""
    value = data["average_accuracy"] if data["average_accuracy"] is not None else data["object_final"]
    return "–" if value is None else f"{value:.4f}"


def page() -> str:
    """The whole page."""
    n = len(list((ROOT / "results").rglob("spec.json")))
    parts = [INTRODUCTION.format(n=n)]
    for folder, title in FOLDERS.items():
        parts.append(f"## {folder}\n{title}.\n\n{table(ROOT / 'results' / folder)}")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE} is written")
