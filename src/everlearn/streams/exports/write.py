"""Export of streams to folders: resumable, with atomic tasks."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import index
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.files import FolderLock
from everlearn.settings import differences
from everlearn.streams.exports.formats import codec
from everlearn.streams.exports.manifest import (
    MANIFEST,
    PARTS,
    PLAN,
    README,
    UNFINISHED,
    ExportPlan,
    FormatName,
    Manifest,
    TaskRecord,
    format_tasks,
    parse,
    read_manifest,
    spec_from,
)
from everlearn.streams.exports.staging import StagingArea
from everlearn.streams.stream import Stream, Task, fingerprint_of


def resolve_tasks(stream: Stream, tasks: Iterable[int] | None) -> tuple[int, ...]:
    """Sorted indices of existing tasks; default: all tasks of a finite stream."""
    if tasks is None:
        if stream.n_tasks is None:
            raise BadInput(f"{stream.id} is infinite; choose tasks, such as tasks=range(10)")
        tasks = (task.index for task in stream)
    numbers = tuple(sorted({index(k) for k in tasks}))
    if not numbers:
        raise BadInput("no tasks are given; give at least one, such as tasks=range(10)")
    for k in numbers:
        stream.task(k)
    return numbers


def count_labels(stream: Stream, tasks: Iterable[int]) -> int:
    """One more than the largest label of some tasks: the number of logits that a classifier needs."""
    return 1 + max((label for k in tasks for label in stream.task(k).labels), default=-1)


def export_tasks(path: str | Path, tasks: Iterable[int]) -> None:
    """Write some tasks of an export that another process has started and will finish; keep completed ones.

    Tasks are pure and written atomically, so it does not matter which process writes a task, or how often.
    """
    folder = Path(path)
    written = folder / UNFINISHED / PLAN
    if not written.is_file():
        raise BadInput(f"{folder} is not an unfinished export; start it with `everlearn stream export`")
    plan = parse(ExportPlan, written)
    if unknown := sorted(set(tasks := tuple(tasks)) - set(plan.tasks)):
        raise BadInput(f"task {unknown[0]} is not part of the export in {folder}; choose from its tasks")
    stream = spec_from(plan.spec).build()
    staging = StagingArea(folder, codec(plan.to), plan.n_labels)
    with FolderLock(written.parent, shared=True, wait=True):
        for k in tasks:
            if staging.finished(k) is None:
                staging.write(stream.task(k))


_EXAMPLES = {
    "npz": 'numpy.load("task-{first:06d}/train.npz")["images"]',
    "png": 'torchvision.datasets.ImageFolder("task-{first:06d}/train")',
    "parquet": 'datasets.load_dataset("path/to/this/folder")',
    "webdataset": 'webdataset.WebDataset("task-{{{first:06d}..{last:06d}}}/train.tar")',
}


def readme(plan: ExportPlan, fingerprint: str, contents: Sequence[TaskRecord]) -> str:
    """The README of an export: contents, how to read it, fingerprint."""
    # With this header Hugging Face finds the files of each split.
    filled = [part for part in PARTS if any(record.parts[part].rows for record in contents)]
    splits = [f"  - split: {part}\n    path: '*/{part}.parquet'" for part in filled]
    header = ["---", "configs:", "- config_name: default", "  data_files:", *splits, "---", ""]
    example = _EXAMPLES.get(plan.to, "").format(first=plan.tasks[0], last=plan.tasks[-1])
    lines = [
        *(header if plan.to == "parquet" else ()),
        f"# {plan.stream}",
        "",
        f"Tasks {format_tasks(plan.tasks)}, fingerprint `{fingerprint}`, exported by everlearn as {plan.to}.",
        "Each task has a folder; `manifest.json` holds the settings of the stream and all checksums.",
        "",
        "```python",
        *([example] if example else ()),  # for the formats of this package
        'everlearn.streams.load("path/to/this/folder")  # as a stream again',
        "```",
        "",
    ]
    return "\n".join(lines)


Progress = Callable[[int, int, str], None]
Wait = Callable[[int], bool]
"""Waits until a worker has completed a task; False if no worker will."""
Workers = Callable[[Path, Sequence[int]], AbstractContextManager[Wait]]
"""Starts processes that write the tasks of an export with `export_tasks`."""


def export(
    stream: Stream,
    path: str | Path,
    *,
    to: FormatName = "npz",
    tasks: Iterable[int] | None = None,
    progress: Progress | None = None,
    workers: Workers | None = None,
) -> Manifest:
    """Export tasks of a stream to a folder that other tools, and `load`, can read.

    A task appears in the folder when it is complete, the manifest when all are. An interrupted export
    continues when it is called again; a finished one is not changed. Equal streams give equal bytes.

    Args:
        stream: any stream.
        path: a new or empty folder, or one with the same export.
        to: the file format.
        tasks: indices of tasks; default: all tasks of a finite stream.
        progress: called with (tasks done, tasks in total, current step).
        workers: processes that write tasks in parallel; the remaining ones are written here.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from everlearn.streams import load, sprites
        >>> stream = sprites(n_tasks=2, image_size=16, classes_per_task=2, factor_values=2)
        >>> with TemporaryDirectory() as folder:
        ...     manifest = export(stream, folder, to="webdataset")
        ...     load(folder).fingerprint() == manifest.fingerprint == stream.fingerprint()
        True
    """
    codec(to)  # report an unknown format or a missing library first
    spec, numbers = stream.spec.to_stored(), resolve_tasks(stream, tasks)
    n_labels = count_labels(stream, numbers)
    plan = ExportPlan(to=to, stream=stream.id, spec=spec, tasks=numbers, n_labels=n_labels)
    folder = Path(path)
    _check_folder(folder)
    files.make_folder(folder)
    with _ExportLock(folder, name=None):
        manifest = _resume(folder, plan)
        if manifest is None:
            manifest = _write(stream, plan, folder, progress or (lambda *step: None), workers or _no_workers)
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    return manifest


def _check_folder(folder: Path) -> None:
    if "\0" in str(folder):
        raise BadInput(f"{str(folder)!r} is not a valid folder name; choose another")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder to export to")
    ours = any((folder / name).exists() for name in (MANIFEST, UNFINISHED))
    if folder.exists() and not ours and any(folder.iterdir()):
        raise BadInput(f"{folder} contains other files; export into a new or empty folder")


class _ExportLock(FolderLock):
    message = "another process is exporting into {folder}; wait for it to finish"


def _resume(folder: Path, plan: ExportPlan) -> Manifest | None:
    """The manifest of a finished export; None otherwise, after its plan has been stored."""
    manifest = read_manifest(folder) if (folder / MANIFEST).exists() else None
    written = folder / UNFINISHED / PLAN
    before = manifest or (parse(ExportPlan, written) if written.exists() else None)
    if before is None:
        files.make_folder(written.parent)
        files.write(written, plan.model_dump_json().encode())
    elif changes := differences(before.summary(), plan.summary()):
        raise BadInput(f"{folder} contains another export: {'; '.join(changes)}; choose another folder")
    return manifest


def _write(stream: Stream, plan: ExportPlan, folder: Path, progress: Progress, workers: Workers) -> Manifest:
    """Write missing tasks, in parallel with the workers, then the manifest."""
    with FolderLock(folder / UNFINISHED, wait=True):
        pass  # wait for workers of an export process that was killed
    staging = StagingArea(folder, codec(plan.to), plan.n_labels)
    records: list[TaskRecord] = []

    def completed(wait: Wait) -> Iterator[Task]:
        for done, k in enumerate(plan.tasks):
            progress(done, len(plan.tasks), f"task {k}")
            # Generating a task again is many times faster than reading most formats.
            found = (staging.record(k), stream.task(k)) if wait(k) else staging.finished(k)
            task = stream.task(k) if found is None else found[1]
            records.append(staging.write(task) if found is None else found[0])
            yield task
        progress(len(plan.tasks), len(plan.tasks), "done")

    with workers(folder, plan.tasks) as wait:
        fingerprint = fingerprint_of(plan.stream, completed(wait))
    page = readme(plan, fingerprint, records).encode()
    found = {"fingerprint": fingerprint, "readme": files.sha256(page), "contents": tuple(records)}
    manifest = Manifest(**dict(plan), **found).with_checksum()
    files.write(folder / README, page)
    files.write(folder / MANIFEST, manifest.model_dump_json(indent=1).encode())
    return manifest


@contextmanager
def _no_workers(folder: Path, tasks: Sequence[int]) -> Iterator[Wait]:
    yield lambda k: False
