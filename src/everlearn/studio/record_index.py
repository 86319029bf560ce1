"""Index of the records in a folder, by names that cannot refer to other files."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs.run_record import EVENTS, NAME, SCORES, SPEC, Record
from everlearn.runs.storage import read_log_reversed
from everlearn.studio.curve_groups import group_key
from everlearn.studio.security import NotFound

MAX_DEPTH = 2
"""Records are in the folder itself or in one of its subfolders."""

Stamp = tuple[int, ...]
Summary = dict[str, Any]


class RecordIndex:
    """The records in a folder and its subfolders, with cached summaries."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._cache: dict[str, tuple[Stamp, Summary]] = {}
        self._lock = threading.Lock()

    def open(self, name: str) -> Record:
        """The record of a name; names that lead outside the folder are rejected."""
        parts = name.split("/")
        if not 1 <= len(parts) <= MAX_DEPTH or any(part in ("", ".", "..") for part in parts) or "\0" in name:
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
        return record.folder.relative_to(self.root).as_posix()

    def summaries(self) -> list[Summary]:
        """Summaries of all records, most recently changed first."""
        with self._lock:  # concurrent requests wait for one reader instead of reading all files twice
            self._cache = {name: self._summary(name) for name in sorted(_record_names(self.root, MAX_DEPTH))}
            recent = sorted(self._cache.values(), key=lambda entry: entry[0], reverse=True)
        return [
            {**summary, "running": lock_holder(self.root / summary["record"]) is not None}
            for _, summary in recent
        ]

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
        stamp = _stamp(f"{self.root}/{name}")
        cached = self._cache.get(name)
        if cached is not None and cached[0] == stamp:
            return cached
        return stamp, _summarize(name, Record(self.root / name))


def _record_names(folder: Path, depth: int, prefix: str = "") -> Iterator[str]:
    """Names of records; symbolic links are not followed."""
    with os.scandir(folder) as entries:
        subfolders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in subfolders:
        if os.path.isfile(f"{folder}/{name}/{SPEC}"):  # noqa: PTH113  (Path objects dominate a long list)
            yield prefix + name
        elif depth > 1:
            yield from _record_names(folder / name, depth - 1, f"{prefix}{name}/")


def _summarize(name: str, record: Record) -> Summary:
    """What the list of runs shows; for a damaged record, the error."""
    try:
        return {"record": name, "name": record.name, **_state(record), "error": None}
    except (BadInput, KeyError, TypeError) as error:
        return {"record": name, "name": "", "learner": "?", "error": f"this record is damaged: {error}"}


def _state(record: Record) -> Summary:
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
        "n_tasks": last["n_tasks"] if is_finished else record.n_tasks_done,
        "n_tasks_planned": spec["n_tasks"],
        "finished": is_finished,
        "accuracy": sum(accuracies) / len(accuracies) if accuracies else None,
    }


def _stamp(folder: str) -> Stamp:
    """The last change of a record's files, then their sizes."""
    sizes, newest = [], 0
    for name in (EVENTS, SCORES, SPEC, NAME):
        with contextlib.suppress(FileNotFoundError):
            stat = os.stat(f"{folder}/{name}")  # noqa: PTH116  (as above)
            sizes.append(stat.st_size)
            newest = max(newest, stat.st_mtime_ns)
    return (newest, *sizes)
