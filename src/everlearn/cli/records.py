"""`everlearn list`, `show`: what records hold."""

from pathlib import Path
from typing import Any

from everlearn.cli.answer import Answer


def list_(folder: Path = Path("records"), /) -> Answer:
    """List the records in a folder.

    Args:
        folder: The folder that holds them.
    """
    from everlearn.cli.catalogue import short, table
    from everlearn.reports.summary import summary
    from everlearn.runs import list_records

    facts = [summary(record) for record in list_records(folder)]
    titles = ("record", "learner", "stream", "tasks", "accuracy", "forgetting", "seconds")
    rows = [(_name(fact), *(short(_rounded(fact[key])) for key in _KEYS)) for fact in facts]
    return Answer(
        {"records": facts}, lambda: table(titles, rows) if rows else f"{folder} holds no records yet"
    )


_KEYS = ("learner", "stream", "tasks", "average_accuracy", "forgetting", "seconds")


def show(record: Path, /) -> Answer:
    """Say what a record holds: how far it is, how good, at what cost.

    Args:
        record: The folder of the record.
    """
    from everlearn.cli.portrait import answer
    from everlearn.runs import Record

    return answer(Record(record))


def _name(fact: dict[str, Any]) -> str:
    return f"{fact['record']}{'' if fact['finished'] else ' (not finished)'}"


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
