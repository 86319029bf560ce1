"""`everlearn run` and `everlearn resume`: play, show how it goes, keep a record."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from everlearn.cli.answer import Answer, Screen, Shown
from everlearn.cli.choose_run import ANY, HOW, RunChoice
from everlearn.cli.whole import Whole
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.runs import Record, RunSpec, Stopped
    from everlearn.runs.events import Event

RECORDS = Path("records")
"""Where records go if nobody says where."""
KILLED = 128
"""What a shell adds to the number of the signal that ended a program."""

Folder = Annotated[
    Path | None, Parameter(name=["--record", "-r"], show_default=False, metavar="DIR", group=HOW)
]
Name = Annotated[str | None, Parameter(show_default=False, metavar="WORDS", group=HOW)]
Processes = Annotated[Whole, Parameter(group=HOW)]


def run(
    choice: RunChoice = ANY,
    *,
    record: Folder = None,
    name: Name = None,
    processes: Processes = 1,
    screen: Shown,
) -> Answer | None:
    """Play a stream to a learner and keep a record that survives crashes.

    Args:
        choice: Which run.
        record: The folder of the record; a new one in records/ if not said.
        name: What you call the run; shown wherever the record is.
        processes: How many share the work of each batch; under torchrun, as many as it started.
        screen: Where progress is shown.
    """
    from everlearn import runs

    if _followed():
        return None
    spec = choice.build()
    folder = record or RECORDS / runs.folder_name(name or spec.title, spec.hash)
    _check_unchanged(folder, spec)
    with runs.together(spec, processes=processes):
        story = runs.resume(folder) if _goes_on(folder) else runs.record(spec, folder, name=name)
        kept = runs.Record(folder)
        stop = played(story, kept, screen)
    return _told(kept, stop)


def resume(record: Path, /, *, processes: Processes = 1, screen: Shown) -> Answer | None:
    """Play a record on from its newest checkpoint; ends as if it had never stopped.

    Args:
        record: The folder of the record.
        processes: How many share the work of each batch; another number than before changes the last bits.
        screen: Where progress is shown.
    """
    from everlearn import runs

    if _followed():
        return None
    kept = runs.Record(record)
    with runs.together(runs.RunSpec.from_mapping(kept.spec), processes=processes):
        stop = played(runs.resume(record), kept, screen)
    return _told(kept, stop)


def played(story: "Iterator[Event]", record: "Record", screen: Screen) -> "Stopped | None":
    """Play a story to its end behind a progress bar; what stopped it, if anything did."""
    from everlearn.cli.watch import watch
    from everlearn.runs import Stopped

    with _plain_warnings(), screen.progress(f"{record.spec['learner']['name']}, task") as progress:
        try:
            watch(story, record, progress)
        except Stopped as stop:
            return stop
    return None


def _followed() -> bool:
    """Whether this process was started to play along with another; if so, it has."""
    from everlearn.runs.following import follow
    from everlearn.runs.meeting import Place, joined

    place = Place.here()
    if place is None or place.rank == 0:
        return False
    with joined(place):
        follow()
    return True


def _goes_on(folder: Path) -> bool:
    """Whether torchrun has started this very command again, after a process of it was lost."""
    from everlearn.runs.meeting import Place
    from everlearn.runs.records import SPEC

    place = Place.here()
    return place is not None and place.attempt > 0 and (folder / SPEC).is_file()


def _told(record: "Record", stop: "Stopped | None") -> Answer:
    from everlearn.cli.portrait import answer

    return answer(record) if stop is None else answer(record, note=str(stop), code=KILLED + stop.signal)


def _check_unchanged(folder: Path, spec: "RunSpec") -> None:
    """Say how a run differs from the one whose record is in its place already."""
    from everlearn.runs.differences import differences
    from everlearn.runs.records import SPEC, Record

    if "\0" not in str(folder) and (folder / SPEC).is_file():
        changed = differences(Record(folder).spec, spec.to_mapping())
        if changed:
            raise BadInput(f"{folder} plays something else: {'; '.join(changed)}; choose a new folder")


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """What a person should know, in a line, while the run goes on."""
    from everlearn.runs import DamagedCheckpoint, InexactResume

    with warnings.catch_warnings():
        for kind in (DamagedCheckpoint, InexactResume):
            warnings.simplefilter("always", kind)
        warnings.showwarning = lambda message, *_: print(f"everlearn: {message}", file=sys.stderr)
        yield
