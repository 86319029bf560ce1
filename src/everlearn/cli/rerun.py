"""The same run once more, with one thing changed."""

from typing import Any

from everlearn import runs
from everlearn.cli.answer import Screen
from everlearn.cli.run import played
from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec


def rerun(record: Record, *, screen: Screen, **change: Any) -> Record:
    """Play a record's spec with some settings changed, into a folder beside it; go on if it is there."""
    spec = RunSpec.from_mapping({**record.spec, **change})
    name = "-".join([record.folder.name, *(f"{key}-{value}" for key, value in change.items())])
    folder = record.folder.parent / name
    story = runs.resume(folder, spec) if (folder / "spec.json").is_file() else runs.record(spec, folder)
    other = Record(folder)
    stopped = played(story, other, screen)
    if stopped is not None:
        raise BadInput(f"{stopped}, or ask again")
    return other
