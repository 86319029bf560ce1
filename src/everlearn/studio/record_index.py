"""The records in a folder, by names that cannot lead anywhere else."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs.run_record import EVENTS, NAME, SCORES, SPEC, Record, lines_backwards
from everlearn.studio.security import NotThere

DEPTH = 2
"""A record lies in the folder itself or in a group one below it."""

Stamp = tuple[int, ...]


class Shelf:
    """The records in a folder, and what can be said of each at a glance.

    Args:
        root: the folder; records in folders directly below it count as well.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._known: dict[str, tuple[Stamp, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def open(self, name: str) -> Record:
        """The record of a name, if it is a name that this folder gives out."""
        parts = name.split("/")
        if not 1 <= len(parts) <= DEPTH or any(part in ("", ".", "..") for part in parts) or "\0" in name:
            raise NotThere(f"there is no record {name!r:.80}")
        folder = self.root.joinpath(*parts)
        try:
            is_inside = folder.resolve() == folder and (folder / SPEC).is_file()
        except (OSError, ValueError):  # too long, or not text
            is_inside = False
        if not is_inside:
            raise NotThere(f"there is no record {name!r:.80}; the list shows all there are")
        return Record(folder)

    def name(self, record: Record) -> str:
        """The name that opens a record of this folder."""
        return record.folder.relative_to(self.root).as_posix()

    def names(self) -> list[str]:
        """The names of all records, sorted."""
        return sorted(_records(self.root, DEPTH))

    def facts(self) -> list[dict[str, Any]]:
        """Every record at a glance, what was played last first."""
        with self._lock:  # two who come at once share the work of reading
            found = [self._glance(name) for name in self.names()]
            self._known = {facts["record"]: (stamp, facts) for stamp, facts in found}
        recent = sorted(found, key=lambda each: each[0], reverse=True)
        return [
            {**facts, "playing": lock_holder(self.root / facts["record"]) is not None} for _, facts in recent
        ]

    def glance(self, name: str) -> dict[str, Any]:
        """One record at a glance."""
        folder = self.open(name).folder
        return {**self._glance(name)[1], "playing": lock_holder(folder) is not None}

    def _glance(self, name: str) -> tuple[Stamp, dict[str, Any]]:
        """What is known of a record, read again only if its files changed."""
        stamp = _stamp(f"{self.root}/{name}")
        known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return known
        return stamp, _seen(name, Record(self.root / name))


def _records(folder: Path, depth: int, prefix: str = "") -> Iterator[str]:
    """Names of records; links are not followed, so that nothing outside is ever shown."""
    with os.scandir(folder) as entries:
        below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in below:
        if os.path.isfile(f"{folder}/{name}/{SPEC}"):  # noqa: PTH113  (paths cost most of a long list)
            yield prefix + name
        elif depth > 1:
            yield from _records(folder / name, depth - 1, f"{prefix}{name}/")


def _seen(name: str, record: Record) -> dict[str, Any]:
    """The few facts that a list shows; a damaged record is listed with what is wrong with it."""
    try:
        return {"record": name, "name": record.name, **_played(record), "error": None}
    except (BadInput, KeyError, TypeError) as error:
        return {"record": name, "name": "", "learner": "?", "error": f"this record is damaged: {error}"}


def _played(record: Record) -> dict[str, Any]:
    spec, last = record.spec, record.last_event or {"event": "nothing"}
    is_finished = last["event"] == "run-ended"
    score = next((row for row in lines_backwards(record.folder / SCORES) if row["batch"] is None), None)
    shares = (
        [right / max(1, n) for right, n in zip(score["correct"], score["total"], strict=True)]
        if score
        else []
    )
    return {
        "learner": spec["learner"]["name"],
        "stream": f"{spec['stream']['stream']} {spec['stream'].get('scenario', '')}".strip(),
        "seed": spec["seed"],
        "tasks": last["n_tasks"] if is_finished else record.n_tasks_played,
        "tasks_planned": spec["n_tasks"],
        "finished": is_finished,
        "accuracy": sum(shares) / len(shares) if shares else None,
    }


def _stamp(folder: str) -> Stamp:
    """When and how far the files of a record were last written, newest first."""
    sizes, newest = [], 0
    for name in (EVENTS, SCORES, SPEC, NAME):
        with contextlib.suppress(FileNotFoundError):
            stat = os.stat(f"{folder}/{name}")  # noqa: PTH116  (as above)
            sizes.append(stat.st_size)
            newest = max(newest, stat.st_mtime_ns)
    return (newest, *sizes)
