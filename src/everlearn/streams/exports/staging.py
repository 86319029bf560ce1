"""Where an export is put together: only whole tasks leave it."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.streams.exports.codec import Codec, Place
from everlearn.streams.exports.manifest import PARTS, UNFINISHED, PartRecord, TaskRecord, parse, task_folder
from everlearn.streams.exports.read import read_task
from everlearn.streams.stream import Batch, Task

SYNCS_AT_ONCE = 16


class Desk:
    """The folder `unfinished` inside an export, with a receipt for every task that has left it.

    A task is written here, forced to the disk, moved to its place by one rename, and then gets its receipt.
    Whatever has no receipt is made again.
    """

    def __init__(self, folder: Path, how: Codec, n_labels: int) -> None:
        self._folder, self._how, self._n_labels = folder, how, n_labels
        self._desk = folder / UNFINISHED

    def finished(self, k: int) -> tuple[TaskRecord, Task] | None:
        """A task that was made before and is still whole."""
        if not receipt_of(self._folder, k).is_file():
            return None
        try:
            record = self.record(k)
            task = read_task(self._folder, record, self._how)
            for part in PARTS:
                getattr(task, part)
        except BadInput:
            return None
        return record, task

    def record(self, k: int) -> TaskRecord:
        """What a task that was made consists of, according to its receipt."""
        return parse(TaskRecord, receipt_of(self._folder, k))

    def make(self, task: Task) -> TaskRecord:
        """Write a task, entirely or not at all."""
        batches = {part: getattr(task, part) for part in PARTS}
        target = self._folder / task_folder(task.index)
        draft = self._desk / task_folder(task.index)
        with files.os_error_context(target), _fresh(draft):
            record = TaskRecord(
                index=task.index,
                name=task.name,
                labels=task.labels,
                ordered=task.ordered,
                parts={part: self._write(draft, batches[part], Place(task.index, part)) for part in PARTS},
            )
            _sync_tree(draft)
            _remove_tree(target)
            files.disk.rename(draft, target)
            files.sync_folder(self._folder)
        files.write(receipt_of(self._folder, task.index), record.model_dump_json().encode())
        return record

    def _write(self, draft: Path, batch: Batch, place: Place) -> PartRecord:
        sha256 = None
        if len(batch):
            for name, data in self._how.encode(batch, place, self._n_labels):
                _write(draft / name, data)
                sha256 = files.sha256(data)
        return PartRecord(
            rows=len(batch),
            image_shape=batch.images.shape[1:],
            factors=batch.factors is not None,
            tasks=batch.tasks is not None,
            sha256=sha256,
        )


def receipt_of(folder: Path, k: int) -> Path:
    """The file that lies in an unfinished export once task k is whole."""
    return folder / UNFINISHED / f"{task_folder(k)}.json"


@contextmanager
def _fresh(draft: Path) -> Iterator[None]:
    """An empty folder that does not outlive a failure: a full disk gets its space back."""
    _remove_tree(draft)
    draft.mkdir(parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = files.disk.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    try:
        files.write_all(file, data)
    finally:
        os.close(file)


def _sync_tree(folder: Path) -> None:
    """Force a folder to the disk; many at once, because the disk serves them together."""
    files_and_folders = [*folder.rglob("*"), folder]
    with ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
        list(pool.map(files.sync_folder, files_and_folders))  # an fsync serves a file as well


def _remove_tree(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
