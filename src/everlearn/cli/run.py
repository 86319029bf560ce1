"""A run inside another command: played, or gone on with, or found finished."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn import runs
from everlearn.cli.arguments import ANY_RUN, HOW, RunChoice, Whole
from everlearn.cli.output import KILLED, Answer, Screen, Shown
from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec

if TYPE_CHECKING:
    from everlearn.runs import Record, RunSpec, Stopped
    from everlearn.runs.events import Event


RECORDS = Path("records")
"""Where records go if nobody says where."""

Folder = Annotated[
    Path | None, Parameter(name=["--record", "-r"], show_default=False, metavar="DIR", group=HOW)
]
Name = Annotated[str | None, Parameter(show_default=False, metavar="WORDS", group=HOW)]
Processes = Annotated[Whole, Parameter(group=HOW)]


def run(
    choice: RunChoice = ANY_RUN,
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
    from everlearn.cli.progress import watch
    from everlearn.runs import Stopped

    with _plain_warnings(), screen.progress(f"{record.spec['learner']['name']}, task") as progress:
        try:
            watch(story, record, progress)
        except Stopped as stop:
            return stop
    return None


def _followed() -> bool:
    """Whether this process was started to play along with another; if so, it has."""
    from everlearn.runs.distributed import Place, follow, joined

    place = Place.here()
    if place is None or place.rank == 0:
        return False
    with joined(place):
        follow()
    return True


def _goes_on(folder: Path) -> bool:
    """Whether torchrun has started this very command again, after a process of it was lost."""
    from everlearn.runs.distributed import Place
    from everlearn.runs.run_record import SPEC

    place = Place.here()
    return place is not None and place.attempt > 0 and (folder / SPEC).is_file()


def _told(record: "Record", stop: "Stopped | None") -> Answer:
    from everlearn.cli.records import answer

    return answer(record) if stop is None else answer(record, note=str(stop), code=KILLED + stop.signal)


def _check_unchanged(folder: Path, spec: "RunSpec") -> None:
    """Say how a run differs from the one whose record is in its place already."""
    from everlearn.runs.run_record import SPEC, Record
    from everlearn.settings import differences

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
