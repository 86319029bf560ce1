"""Index of the records in a folder, by names that cannot refer to other files."""

import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs.run_files import read_log_reversed
from everlearn.runs.run_record import (
    EVENTS,
    NAME,
    SCORES,
    SPEC,
    Record,
    check_folder,
    has_record,
    list_records,
)
from everlearn.studio.curve_groups import group_key
from everlearn.studio.finished_tasks import FinishedTasks
from everlearn.studio.record_notes import NOTES, read_notes
from everlearn.studio.security import NotFound
from everlearn.studio.trash import TRASH, Trash

MAX_DEPTH = 2
"""Records are in the folder itself or in one of its subfolders."""

Stamp = tuple[int, ...]
Summary = dict[str, Any]


class RecordIndex:
    """The records in a folder and its subfolders, with cached summaries."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.trash = Trash(self.root)
        self._others: dict[str, Path] = {}  # records of other folders that the user has opened
        self._cache: dict[str, tuple[Stamp, Summary]] = {}
        self._finished_tasks: dict[str, FinishedTasks] = {}  # of runs that have not ended
        self._lock = threading.Lock()
        self._read_at = -math.inf

    def open(self, name: str) -> Record:
        """The record of a name; names that lead outside the folder are rejected."""
        if name in self._others:
            return Record(self._others[name])
        parts = name.split("/")
        if (
            not 1 <= len(parts) <= MAX_DEPTH
            or any(part in ("", ".", "..", TRASH) for part in parts)
            or "\0" in name
        ):
            raise NotFound(f"there is no record {name!r:.80}")
        folder = self.root.joinpath(*parts)
        try:
            is_record = folder.resolve() == folder and (folder / SPEC).is_file()
        except (OSError, ValueError):  # too long, or not valid Unicode
            is_record = False
        if not is_record:
            raise NotFound(f"there is no record {name!r:.80}; see the list of runs")
        return Record(folder)

    def name(self, record: Record) -> str:
        """The name that opens a record."""
        others = (name for name, folder in self._others.items() if folder == record.folder)
        return next(others, None) or record.folder.relative_to(self.root).as_posix()

    def is_other(self, record: Record) -> bool:
        """Whether a record is in another folder."""
        return record.folder in self._others.values()

    def open_folder(self, folder: Path) -> list[str]:
        """Add a record of another folder, or all records in it, until the server ends; returns names."""
        path = check_folder(folder.expanduser()).resolve()
        found = [path] if has_record(path) else [each.folder for each in list_records(path)]
        if not found:
            raise BadInput(f"{path} has no records; name a record or the folder that contains records")
        return [self._add_other(each) for each in found]

    def close(self, record: Record) -> None:
        """Remove a record of another folder from the list; its files stay."""
        self._others.pop(self.name(record))

    def _add_other(self, folder: Path) -> str:
        if folder.is_relative_to(self.root):
            return folder.relative_to(self.root).as_posix()
        names = [name for name, known in self._others.items() if known == folder]
        free = (f"{number}:{folder.name}" for number in itertools.count(1))
        name = names[0] if names else next(each for each in free if not self._is_taken(each))
        self._others[name] = folder
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._others or (self.root / name).exists()

    def _path(self, name: str) -> str:
        return str(self._others[name]) if name in self._others else f"{self.root}/{name}"

    def summaries(self) -> list[Summary]:
        """Summaries of all records, most recently changed first."""
        requested = time.monotonic()
        with self._lock:
            # Otherwise another request has read all files while this one waited.
            if self._read_at < requested:
                self._read_at = time.monotonic()
                self._read()
            recent = sorted(self._cache.values(), key=lambda entry: entry[0], reverse=True)
        return [{**summary, "running": self._is_running(summary)} for _, summary in recent]

    def _read(self) -> None:
        for name, folder in list(self._others.items()):
            if not has_record(folder):  # it was moved or deleted
                del self._others[name]
        names = [*sorted(_record_names(self.root, MAX_DEPTH)), *self._others]
        self._cache = {name: self._summary(name) for name in names}
        unfinished = [name for name, (_, summary) in self._cache.items() if not summary.get("finished")]
        known = self._finished_tasks
        self._finished_tasks = {name: known[name] for name in unfinished if name in known}

    def _is_running(self, summary: Summary) -> bool:
        """Whether a process holds the lock of a run, which a finished run does not have."""
        return not summary.get("finished") and lock_holder(Path(self._path(summary["record"]))) is not None

    def with_checkpoints(self, is_supported: Callable[[str], bool]) -> list[Summary]:
        """Summaries of the records of some learners, by name, that have a checkpoint."""
        return [
            summary
            for summary in self.summaries()
            if not summary["error"] and is_supported(summary["learner"])
            if self.open(summary["record"]).checkpoints.numbers()
        ]

    def _summary(self, name: str) -> tuple[Stamp, Summary]:
        """The summary of a record; read again only if a file has changed."""
        path = self._path(name)
        stamp = _stamp(path)
        cached = self._cache.get(name)
        if cached is not None and cached[0] == stamp:
            return cached
        return stamp, self._summarize(name, Record(path))

    def _summarize(self, name: str, record: Record) -> Summary:
        """The entry of a record in the list of runs; for a damaged record, the error."""
        tasks = self._finished_tasks.setdefault(name, FinishedTasks(record.folder / EVENTS))
        try:
            notes = asdict(read_notes(record.folder))
            return {"record": name, "name": record.name, **notes, **_state(record, tasks), "error": None}
        except (BadInput, KeyError, TypeError) as error:
            return {"record": name, "name": "", "learner": "?", "error": f"this record is damaged: {error}"}


def _record_names(folder: Path, depth: int, prefix: str = "") -> Iterator[str]:
    """Names of records; symbolic links are not followed."""
    with os.scandir(folder) as entries:
        subfolders = [
            each.name for each in entries if each.is_dir(follow_symlinks=False) and each.name != TRASH
        ]
    for name in subfolders:
        if os.path.isfile(f"{folder}/{name}/{SPEC}"):  # noqa: PTH113  (Path objects dominate a long list)
            yield prefix + name
        elif depth > 1:
            yield from _record_names(folder / name, depth - 1, f"{prefix}{name}/")


def _state(record: Record, finished_tasks: FinishedTasks) -> Summary:
    spec, last = record.spec, record.last_event or {"event": None}
    is_finished = last["event"] == "run-ended"
    score = next((row for row in read_log_reversed(record.folder / SCORES) if row["n_batches"] is None), None)
    pairs = zip(score["n_correct"], score["n_images"], strict=True) if score else ()
    accuracies = [n_correct / max(1, n_images) for n_correct, n_images in pairs]
    return {
        "learner": spec["learner"]["name"],
        "stream": f"{spec['stream']['stream']} {spec['stream'].get('scenario', '')}".strip(),
        "seed": spec["seed"],
        "group": group_key(spec),
        "n_tasks": last["n_tasks"] if is_finished else finished_tasks.count(),
        "n_tasks_planned": spec["n_tasks"],
        "finished": is_finished,
        "accuracy": sum(accuracies) / len(accuracies) if accuracies else None,
    }


def _stamp(folder: str) -> Stamp:
    """The last change of a record's files, then their sizes."""
    sizes, newest = [], 0
    for name in (EVENTS, SCORES, SPEC, NAME, NOTES):
        try:
            stat = os.stat(f"{folder}/{name}")  # noqa: PTH116  (as above)
        except FileNotFoundError:
            continue
        sizes.append(stat.st_size)
        newest = max(newest, stat.st_mtime_ns)
    return (newest, *sizes)
