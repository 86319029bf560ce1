"""Staging area of an export: only complete tasks are moved out of it."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.streams.exports.codec import Codec, PartKey
from everlearn.streams.exports.manifest import PARTS, UNFINISHED, PartRecord, TaskRecord, parse, task_folder
from everlearn.streams.exports.read import read_task
from everlearn.streams.stream import Batch, Task

N_SYNC_THREADS = 16


class StagingArea:
    """The folder `unfinished` of an export, with a receipt file for every completed task.

    A task is written here, synced, moved to the export by one rename, and then gets its receipt.
    """

    def __init__(self, folder: Path, codec: Codec, n_labels: int) -> None:
        self._folder, self._codec, self._n_labels = folder, codec, n_labels
        self._root = folder / UNFINISHED

    def finished(self, k: int) -> tuple[TaskRecord, Task] | None:
        """The record and the content of a completed task; None if it is missing or damaged."""
        if not receipt_path(self._folder, k).is_file():
            return None
        try:
            record = self.record(k)
            task = read_task(self._folder, record, self._codec)
            for part in PARTS:
                getattr(task, part)
        except BadInput:
            return None
        return record, task

    def record(self, k: int) -> TaskRecord:
        """The receipt of a completed task."""
        return parse(TaskRecord, receipt_path(self._folder, k))

    def write(self, task: Task) -> TaskRecord:
        """Write a task atomically."""
        batches = {part: getattr(task, part) for part in PARTS}
        target, draft = (root / task_folder(task.index) for root in (self._folder, self._root))
        with files.os_error_context(target), _new_folder(draft):
            parts = {
                part: self._write_part(draft, batches[part], PartKey(task.index, part)) for part in PARTS
            }
            record = TaskRecord(
                index=task.index, name=task.name, labels=task.labels, ordered=task.ordered, parts=parts
            )
            with ThreadPoolExecutor(N_SYNC_THREADS) as pool:  # because the disk merges the requests
                list(pool.map(files.sync_folder, [*draft.rglob("*"), draft]))  # also syncs files
            if target.exists():
                shutil.rmtree(target)
            files.disk.rename(draft, target)
            files.sync_folder(self._folder)
        files.write(receipt_path(self._folder, task.index), record.model_dump_json().encode())
        return record

    def _write_part(self, draft: Path, batch: Batch, key: PartKey) -> PartRecord:
        sha256 = None
        if len(batch):
            for name, data in self._codec.encode(batch, key, self._n_labels):
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                file = files.disk.open(draft / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
                try:
                    files.write_all(file, data)
                finally:
                    os.close(file)
                sha256 = files.sha256(data)
        return PartRecord(
            rows=len(batch),
            image_shape=batch.images.shape[1:],
            factors=batch.factors is not None,
            tasks=batch.tasks is not None,
            sha256=sha256,
        )


def receipt_path(folder: Path, k: int) -> Path:
    """The file that marks task k of an unfinished export as complete."""
    return folder / UNFINISHED / f"{task_folder(k)}.json"


@contextmanager
def _new_folder(draft: Path) -> Iterator[None]:
    """An empty folder, which is removed on failure to free the space of a full disk."""
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir(parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
