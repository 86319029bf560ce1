"""Questions to the learner of a record: who is asked, and where the answer is kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs import Play, Record
from everlearn.runs.editing import opened
from everlearn.runs.records import PROTOCOLS


def taught(record: Record) -> Play:
    """The run at its newest checkpoint, with at least one task behind it to be asked about."""
    play = opened(record)
    if not play.position.task:
        raise BadInput(
            f"{record.folder} has not finished a task yet; play it with `everlearn resume {record.folder}`"
        )
    return play


def asked(folder: Path, question: str, ask: Callable[[Play, int], dict[str, Any]]) -> dict[str, Any]:
    """The answer of a record's learner, also written into the record."""
    record = Record(folder)
    play = taught(record)
    n_tasks = play.position.task
    facts = {"record": str(folder), "learner": play.spec.learner.name, "tasks": n_tasks, **ask(play, n_tasks)}
    return keep(record, question, facts)


def batches(folder: Path) -> list[int]:
    """How many batches a record's learner learned in each task."""
    from everlearn.reports.findings import Findings

    return list(Findings.of(Record(folder)).n_batches.values())


def keep(record: Record, question: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Write an answer into the record, with what tells whether the record has changed since."""
    folder = record.folder / PROTOCOLS
    files.make_folder(folder)
    kept = {**facts, "digest": record.digest}
    files.write(folder / f"{question}.json", json.dumps(kept, indent=1).encode() + b"\n")
    return kept
