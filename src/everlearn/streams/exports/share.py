"""A part of an export in the hands of another process."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.exports.desk import Desk
from everlearn.streams.exports.formats import codec
from everlearn.streams.exports.manifest import PLAN, UNFINISHED, Plan, parse
from everlearn.streams.exports.spec import spec_from


def make_share(path: str | Path, tasks: Iterable[int]) -> None:
    """Make some tasks of an export that another process has begun, and will sign.

    Tasks are pure functions of their number and a task is whole or absent, so that it makes no difference
    who makes which, or how often one is made.

    Args:
        path: the folder of the export.
        tasks: which of its tasks; those that are whole are left alone.
    """
    folder = Path(path)
    written = folder / UNFINISHED / PLAN
    if not written.is_file():
        raise BadInput(f"{folder} is not an export under way; begin it with `everlearn stream export`")
    plan = parse(Plan, written)
    if strange := sorted(set(tasks := tuple(tasks)) - set(plan.tasks)):
        raise BadInput(f"task {strange[0]} is not one of the export in {folder}; name some of its tasks")
    stream = spec_from(plan.spec).build()
    desk = Desk(folder, codec(plan.to), plan.n_labels)
    with _held(written, alone=False):
        for k in tasks:
            if desk.finished(k) is None:
                desk.make(stream.task(k))


def wait_for_shares(folder: Path) -> None:
    """Until nobody makes shares any more for one who began this export and was killed; they end soon, too."""
    with _held(folder / UNFINISHED / PLAN, alone=True):
        pass


@contextmanager
def _held(path: Path, *, alone: bool) -> Iterator[None]:
    import fcntl  # not on every system; reading exports must not need it

    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
