"""Streams written to folders: whole tasks or nothing, and never twice."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import index
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.streams.exports.formats import codec
from everlearn.streams.exports.manifest import (
    MANIFEST,
    PARTS,
    PLAN,
    README,
    UNFINISHED,
    FormatName,
    Manifest,
    PartName,
    Plan,
    TaskRecord,
    parse,
    read_manifest,
    spec_from,
    spoken,
)
from everlearn.streams.exports.staging import Desk
from everlearn.streams.stream import Stream, Task, fingerprint_of


def chosen_tasks(stream: Stream, tasks: Iterable[int] | None) -> tuple[int, ...]:
    """The numbers of the tasks that are meant, sorted, each known to exist; all if not said."""
    if tasks is None:
        if stream.n_tasks is None:
            raise BadInput(f"{stream.id} is endless; say which tasks are meant, such as tasks=range(10)")
        tasks = (task.index for task in stream)
    numbers = tuple(sorted({index(k) for k in tasks}))
    if not numbers:
        raise BadInput("no tasks are meant; give at least one, such as tasks=range(10)")
    for k in numbers:
        stream.task(k)
    return numbers


def count_labels(stream: Stream, tasks: Iterable[int]) -> int:
    """One more than the largest label in some tasks: the outputs that a classifier needs."""
    return 1 + max((label for k in tasks for label in stream.task(k).labels), default=-1)


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


_HOW_TO_READ = {
    "npz": 'numpy.load("task-{first:06d}/train.npz")["images"]',
    "png": 'torchvision.datasets.ImageFolder("task-{first:06d}/train")',
    "parquet": 'datasets.load_dataset("path/to/this/folder")',
    "webdataset": 'webdataset.WebDataset("task-{{{first:06d}..{last:06d}}}/train.tar")',
}


def readme(plan: Plan, fingerprint: str, contents: Sequence[TaskRecord]) -> str:
    """What was exported, how to read it and how to cite it, in Markdown."""
    lines = [
        *(_split_table(contents) if plan.to == "parquet" else ()),
        f"# {plan.stream}",
        "",
        f"Tasks {spoken(plan.tasks)}, fingerprint `{fingerprint}`, exported by everlearn as {plan.to}.",
        "Each task has a folder; `manifest.json` holds the settings of the stream and all checksums.",
        "",
        "```python",
        _HOW_TO_READ[plan.to].format(first=plan.tasks[0], last=plan.tasks[-1]),
        'everlearn.streams.load("path/to/this/folder")  # as a stream again',
        "```",
        "",
    ]
    return "\n".join(lines)


def _split_table(contents: Sequence[TaskRecord]) -> list[str]:
    """What tells Hugging Face which files make up which split."""
    filled = [part for part in PARTS if any(_has_images(record, part) for record in contents)]
    splits = [f"  - split: {part}\n    path: '*/{part}.parquet'" for part in filled]
    return ["---", "configs:", "- config_name: default", "  data_files:", *splits, "---", ""]


def _has_images(record: TaskRecord, part: PartName) -> bool:
    return record.parts[part].rows > 0


Progress = Callable[[int, int, str], None]
Wait = Callable[[int], bool]
"""Whether others have made a task whole, once that is known; False if nobody else will."""
Others = Callable[[Path, Sequence[int]], AbstractContextManager[Wait]]
"""Sees to it that others make the tasks of the export in a folder, with `make_share`."""


def export(
    stream: Stream,
    path: str | Path,
    *,
    to: FormatName = "npz",
    tasks: Iterable[int] | None = None,
    progress: Progress | None = None,
    others: Others | None = None,
) -> Manifest:
    """Write tasks of a stream into a folder that other tools, and `load`, can read.

    A task appears in the folder when it is complete, and the manifest when all are. An export that was
    interrupted, by whatever, goes on where it stopped when it is called again; one that is finished is left
    as it is. Equal streams give equal files, byte for byte.

    Args:
        stream: any stream.
        path: a new or empty folder, or one with the same export.
        to: the format of the files.
        tasks: which tasks; all, if the stream has an end.
        progress: called with (tasks done, tasks in all, what is being done).
        others: who makes tasks beside us; what they do not make is made here.

    Returns:
        The manifest, as it lies in the folder.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from everlearn.streams import load, sprites
        >>> stream = sprites(n_tasks=2, image_size=16, classes_per_task=2, factor_values=2)
        >>> with TemporaryDirectory() as folder:
        ...     manifest = export(stream, folder, to="webdataset")
        ...     load(folder).fingerprint() == manifest.fingerprint == stream.fingerprint()
        True
    """
    codec(to)  # an unknown format, or one whose library is missing, is complained about first
    plan = _plan(stream, to, tasks)
    folder = Path(path)
    _check_free(folder)
    with _alone_in(folder):
        manifest = _continue(folder, plan)
        if manifest is None:
            manifest = _make(stream, plan, folder, progress or _say_nothing, others or _nobody)
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    return manifest


def _plan(stream: Stream, to: FormatName, tasks: Iterable[int] | None) -> Plan:
    numbers = chosen_tasks(stream, tasks)
    return Plan(
        to=to,
        stream=stream.id,
        spec=stream.spec.to_mapping(),
        tasks=numbers,
        n_labels=count_labels(stream, numbers),
    )


def _check_free(folder: Path) -> None:
    if "\0" in str(folder):
        raise BadInput(f"{str(folder)!r} cannot be the name of a folder; choose another")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder to export to")
    ours = any((folder / name).exists() for name in (MANIFEST, UNFINISHED))
    if not ours and any(folder.iterdir()):
        raise BadInput(f"{folder} already holds something else; export into a new or empty folder")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Make the folder and keep other exports out of it; the lock dies with this process."""
    import fcntl  # not on every system; reading exports must not need it

    files.make_folder(folder)
    file = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"another process is exporting into {folder}; wait for it to finish") from None
        yield
    finally:
        os.close(file)


def _continue(folder: Path, plan: Plan) -> Manifest | None:
    """What is there already: the manifest of this very export, or at least its plan from now on."""
    manifest = read_manifest(folder) if (folder / MANIFEST).exists() else None
    written = folder / UNFINISHED / PLAN
    before = manifest or (parse(Plan, written) if written.exists() else None)
    if before is None:
        files.make_folder(written.parent)
        files.write(written, plan.model_dump_json().encode())
    elif differences := before.differences(plan):
        raise BadInput(f"{folder} holds another export: {'; '.join(differences)}; choose another folder")
    return manifest


def _make(stream: Stream, plan: Plan, folder: Path, progress: Progress, others: Others) -> Manifest:
    """Make what is missing, with the others, then sign the whole."""
    wait_for_shares(folder)
    desk, records = Desk(folder, codec(plan.to), plan.n_labels), list[TaskRecord]()
    with others(folder, plan.tasks) as wait:
        settled = _settle(stream, plan, desk, records, progress, wait)
        fingerprint = fingerprint_of(plan.stream, settled)
    return _sign(plan, fingerprint, records, folder)


def _sign(plan: Plan, fingerprint: str, records: Sequence[TaskRecord], folder: Path) -> Manifest:
    page = readme(plan, fingerprint, records).encode()
    manifest = Manifest(
        **dict(plan), fingerprint=fingerprint, readme=files.sha256(page), contents=tuple(records)
    ).signed()
    files.write(folder / README, page)
    files.write(folder / MANIFEST, manifest.model_dump_json(indent=1).encode())
    return manifest


def _settle(
    stream: Stream, plan: Plan, desk: Desk, records: list[TaskRecord], progress: Progress, wait: Wait
) -> Iterator[Task]:
    """Each task of the plan once it is safely in the folder, its record added to `records`."""
    for done, k in enumerate(plan.tasks):
        progress(done, len(plan.tasks), f"task {k}")
        # To draw a task again is many times faster than to read it from most files.
        found = (desk.record(k), stream.task(k)) if wait(k) else desk.finished(k)
        task = stream.task(k) if found is None else found[1]
        records.append(desk.make(task) if found is None else found[0])
        yield task
    progress(len(plan.tasks), len(plan.tasks), "done")


@contextmanager
def _nobody(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
    yield lambda k: False


def _say_nothing(done: int, total: int, word: str) -> None:
    pass
