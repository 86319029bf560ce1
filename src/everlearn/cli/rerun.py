"""A run inside another command: played, or gone on with, or found finished."""

from pathlib import Path
from typing import Any

from everlearn import runs
from everlearn.cli.answer import Screen
from everlearn.cli.run import played
from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec


def play_into(folder: Path, spec: RunSpec, screen: Screen) -> Record:
    """The finished record of a spec; what of it is in the folder already is not played again."""
    story = runs.resume(folder, spec) if (folder / "spec.json").is_file() else runs.record(spec, folder)
    record = Record(folder)
    stopped = played(story, record, screen)
    if stopped is not None:
        raise BadInput(f"{stopped}, or ask again")
    return record


def rerun(record: Record, *, screen: Screen, **change: Any) -> Record:
    """A record's spec with some settings changed, played into a folder beside it."""
    name = "-".join([record.folder.name, *(f"{key}-{value}" for key, value in change.items())])
    return play_into(record.folder.parent / name, RunSpec.from_mapping({**record.spec, **change}), screen)
