"""`everlearn list`, `show`: what records hold."""

from pathlib import Path
from typing import Any

from everlearn.cli.answer import Answer
from everlearn.cli.reading import check_path
from everlearn.errors import BadInput


def list_(folder: Path = Path("records"), /) -> Answer:
    """List the records in a folder.

    Args:
        folder: The folder that holds them.
    """
    from everlearn.reports.findings import Findings
    from everlearn.reports.summary import summary
    from everlearn.runs import list_records
    from everlearn.runs.records import SPEC

    if (check_path(folder) / SPEC).is_file():
        raise BadInput(f"{folder} is itself a record; look at it with `everlearn show {folder}`")
    facts = [summary(Findings.of(record)) for record in list_records(folder)]
    return Answer({"records": facts}, lambda: _table(facts) if facts else f"{folder} holds no records yet")


def show(record: Path, /) -> Answer:
    """Say what a record holds: how far it is, how good, at what cost.

    Args:
        record: The folder of the record.
    """
    from everlearn.cli.portrait import answer
    from everlearn.runs import Record

    return answer(Record(record))


def _table(facts: list[dict[str, Any]]) -> Any:
    from everlearn.cli.catalogue import table

    titles = ("record", "learner", "stream", "tasks", "accuracy", "forgetting", "time")
    return table(titles, [_row(fact) for fact in facts])


def _row(fact: dict[str, Any]) -> tuple[str, ...]:
    from everlearn.reports.quantities import duration, exactly, share

    numbers = [exactly(fact[key]) for key in ("average_accuracy", "forgetting", "seconds")]
    accuracy, forgetting, time = (
        form(number) for form, number in zip((share, share, duration), numbers, strict=True)
    )
    said = f"\n“{fact['name']}”" if fact["name"] else ""
    tasks = str(fact["tasks"]) if fact["finished"] else f"{fact['tasks']} of {fact['tasks_planned'] or '?'}"
    return (
        f"{fact['record']}{said}",
        fact["learner"],
        fact["stream"] or "–",
        tasks,
        accuracy,
        forgetting,
        time,
    )
