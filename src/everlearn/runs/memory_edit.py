"""The learner of a record as it was last saved, and edits of what it remembers."""

from collections.abc import Callable, Sequence

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs.events import Act, MemoryEdited
from everlearn.runs.loop import Play
from everlearn.runs.recorder import Recorder
from everlearn.runs.run_record import Record, RecordLock
from everlearn.runs.spec import RunSpec

Edit = tuple[Act, Callable[[ExemplarMemory], int]]
"""What is done, and a function that does it and says to which label."""


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


def edited(record: Record, edits: Sequence[Edit]) -> list[MemoryEdited]:
    """Edit the memory of a record's learner and save it; no earlier state is left behind.

    The edits are tried on a copy first, so that one that is refused leaves every file as it was. A run that
    is not finished goes on from what was saved last, with the edited memory.

    Args:
        record: the record; it must not be playing.
        edits: what to do, in order.
    """
    memory = editable_memory(opened(record).learner)
    for _, do in edits:
        do(memory)
    play = Play(RunSpec.from_mapping(record.spec))
    with RecordLock(record.folder), Recorder(record, play) as recorder:
        events = [_event(play, act, do(editable_memory(play.learner))) for act, do in edits]
        for event in events:
            recorder.take(event)
        recorder.checkpoint()
        record.checkpoints.forget_older()
        if play.position.task == play.n_tasks:
            recorder.take(play.ended())
    return events


def _event(play: Play, act: Act, label: int) -> MemoryEdited:
    memory = editable_memory(play.learner)
    return MemoryEdited(
        n_tasks=play.position.task,
        act=act,
        label=label,
        n_images=len(memory.images_of(label)) if label in memory else 0,
        memory_bytes=play.learner.footprint().memory,
    )
