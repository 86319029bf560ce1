"""The learner of a record, as it was when it was last saved."""

from collections.abc import Callable
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs import Play, Record, RunSpec
from everlearn.runs.events import Act, MemoryEdited
from everlearn.runs.lock import RecordLock
from everlearn.runs.recording import Recorder


def opened(record: Record) -> Play:
    """The run at its newest checkpoint that can be used; nothing on disk is touched."""
    play, problems = Play(RunSpec.from_mapping(record.spec)), []
    for number in record.checkpoints.newest_first():
        try:
            play.load(record.checkpoints.read(number)["play"])
        except BadInput as error:
            problems.append(f"checkpoint {number}: {error}")
        else:
            return play
    if problems:
        raise record.checkpoints.lost("; ".join(problems))
    raise BadInput(f"{record.folder} has no checkpoint yet; play it with `everlearn resume {record.folder}`")


def edited(folder: Path, act: Act, edit: Callable[[ExemplarMemory], int]) -> MemoryEdited:
    """Edit the memory of a record's learner and save it; no earlier state is left behind.

    The edit is tried on a copy first, so that one that is refused leaves every file as it was. A run that
    is not finished goes on from what was saved last, with the edited memory.

    Args:
        folder: the record.
        act: what is done.
        edit: does it, and says to which label.
    """
    record = Record(folder)
    edit(editable_memory(opened(record).learner))
    play = Play(RunSpec.from_mapping(record.spec))
    with RecordLock(record.folder), Recorder(record, play) as recorder:
        event = _event(play, act, edit(editable_memory(play.learner)))
        recorder.take(event)
        recorder.checkpoint()
        record.checkpoints.forget_older()
        if play.position.task == play.n_tasks:
            recorder.take(play.ended())
    return event


def _event(play: Play, act: Act, label: int) -> MemoryEdited:
    memory = editable_memory(play.learner)
    return MemoryEdited(
        n_tasks=play.position.task,
        act=act,
        label=label,
        n_pictures=len(memory.pictures(label)) if label in memory else 0,
        memory_bytes=play.learner.footprint().memory,
    )
