"""A run on disk: a folder that anyone can read, with or without torch.

spec.json        what is played
name.txt         what people call the run, if anything
events.jsonl     what happened, one event a line
scores.jsonl     right answers on past tasks, one evaluation a line
probes.jsonl     what could be read from codes, one evaluation a line; only of learners that answer nothing
seconds.jsonl    how long each task took here
machine.json     what it was computed on, and whether its last bits can be relied on
checkpoint/      where to go on
protocols/       answers to questions that were put to the learner
"""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import BadInput
from everlearn.evaluation import Row, ScoreTable
from everlearn.files import LOCK, FolderLock
from everlearn.runs.storage import Checkpoints
from everlearn.settings import check_format, read_json

MAX_NAME = 200
MAX_SLUG = 60


def folder_name(name: str, identity: str) -> str:
    """A folder's name for any words: plain letters and digits, and the first of an identity.

    Example:
        >>> folder_name("Größe: 2/3 ☂", "9f86d081884c7d65")
        'grosse-2-3-9f86d081'
    """
    plain = unicodedata.normalize("NFKD", check_name(name).casefold()).encode("ascii", "ignore").decode()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:MAX_SLUG].strip("-")
    return f"{slug or 'run'}-{identity[:8]}"


def check_name(name: str) -> str:
    """The name itself, or a complaint if it cannot be shown on one line."""
    bad = [letter for letter in name if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    if bad or len(name) > MAX_NAME:
        raise BadInput(f"{name!r:.60} is no name for a run; give up to {MAX_NAME} characters on one line")
    return name


def check_folder(folder: Path | str) -> Path:
    """The path itself, or a complaint if no folder can have it."""
    if "\0" in str(folder) or not str(folder).strip():
        raise BadInput(f"no folder can be called {str(folder)!r:.60}; choose another")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise BadInput(f"no folder can be called {str(folder)!r:.60}; it is not text") from None
    return Path(folder)


__all__ = ["LOCK", "RecordLock"]


class RecordLock(FolderLock):
    """Held while a run is played into a folder."""

    message = "{folder} is being played by {holder}; wait for it or stop it"


SPEC = "spec.json"
EVENTS, SCORES, PROBES, SECONDS = "events.jsonl", "scores.jsonl", "probes.jsonl", "seconds.jsonl"
STORY = (EVENTS, SCORES, PROBES)
"""The logs that are the same for equal runs; the other files depend on the machine."""
MACHINE = "machine.json"
NAME = "name.txt"
PROTOCOLS = "protocols"
RESTORE = "restore the record from a copy"
BEGINNINGS = {LOCK, f".{SPEC}.new", NAME, f".{NAME}.new"}
"""What a record that was interrupted before it began may have left."""


class Record:
    """The folder of one run, opened for reading; it may be read while it is being played.

    Args:
        folder: the record's folder; it must hold a spec.json.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = check_folder(folder)
        if not (self.folder / SPEC).is_file():
            raise BadInput(
                f"{self.folder} is not a record (it has no {SPEC}); `everlearn list` shows records"
            )

    def __repr__(self) -> str:
        return f"<record {self.folder.name}: {self.spec['learner']['name']}, {self.n_tasks_played} tasks>"

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What is played, as plain values."""
        spec = _read(self.folder / SPEC)
        check_format(spec, f"the record {self.folder}")
        return spec

    @property
    def name(self) -> str:
        """What people call the run; empty if they gave it no name."""
        path = self.folder / NAME
        return check_name(path.read_text("utf-8", errors="replace").strip()) if path.is_file() else ""

    @property
    def spec_hash(self) -> str:
        """The hash of the spec as it was written."""
        return files.sha256((self.folder / SPEC).read_bytes().strip())

    def events(self) -> Iterator[dict[str, Any]]:
        """What happened, in order."""
        return lines(self.folder / EVENTS)

    def scores(self) -> Iterator[dict[str, Any]]:
        """Evaluations, in order."""
        return lines(self.folder / SCORES)

    def probes(self) -> Iterator[dict[str, Any]]:
        """What could be read from codes, evaluation by evaluation; nothing for learners that answer."""
        return lines(self.folder / PROBES)

    def seconds(self) -> Iterator[dict[str, Any]]:
        """How long each task took, in order."""
        return lines(self.folder / SECONDS)

    def score_table(self) -> ScoreTable:
        """Accuracy on task j after task i."""
        table = ScoreTable()
        for row in self.scores():
            if row["batch"] is None:
                table.set_row(Row.from_counts(row["task"], row["tasks"], row["correct"], row["total"]))
        return table

    def protocol_results(self) -> dict[str, dict[str, Any]]:
        """What was found when questions were put to the learner, by question, if it has not changed since."""
        found = {path.stem: _read(path) for path in sorted((self.folder / PROTOCOLS).glob("*.json"))}
        digest = self.digest if found else ""
        return {question: answer for question, answer in found.items() if answer.get("digest") == digest}

    @property
    def n_tasks_played(self) -> int:
        """Tasks that are learned and scored; found at the end of the log, however long it is."""
        for event in lines_backwards(self.folder / EVENTS):
            if event["event"] == "task-ended":
                return int(event["task"]) + 1
        return 0

    @property
    def is_finished(self) -> bool:
        """Whether the last task was played."""
        last = self.last_event
        return last is not None and last["event"] == "run-ended"

    @property
    def last_event(self) -> dict[str, Any] | None:
        """What happened last, of what is written down."""
        return next(lines_backwards(self.folder / EVENTS), None)

    @property
    def machine(self) -> dict[str, Any]:
        """What the run was computed on: torch, threads, device; empty before it began."""
        path = self.folder / MACHINE
        return _read(path) if path.is_file() else {}

    @property
    def is_exact(self) -> bool:
        """Whether all of it was computed on the same kind of machine, so that its last bits are sure."""
        return bool(self.machine.get("exact", True))

    @property
    def digest(self) -> str:
        """A hash over scores, learner and memory; equal for equal runs whatever interrupted them."""
        story = hashlib.sha256()
        for path in (self.folder / name for name in STORY):
            if path.is_file():
                with path.open("rb") as log:
                    while piece := log.read(files.CHUNK_BYTES):
                        story.update(piece)
        return story.hexdigest()[:32]

    @property
    def checkpoints(self) -> Checkpoints:
        """Where the run can go on."""
        return Checkpoints(self.folder / "checkpoint", self.spec_hash)


def list_records(folder: Path | str) -> list[Record]:
    """The records that lie in a folder, by name."""
    root = check_folder(folder)
    if not root.is_dir():
        raise BadInput(f"there is no folder {root}; give one that holds records")
    return [Record(path.parent) for path in sorted(root.glob(f"*/{SPEC}"))]


def check_free(folder: Path) -> None:
    """Complain, before anything is computed, if no record can begin in a folder."""
    with files.os_error_context(folder):
        # One look at the names: between two, another process may begin its record here.
        is_there = folder.exists() or folder.is_symlink()
        names = {each.name for each in folder.iterdir()} if is_there else set()
        if SPEC in names:
            raise BadInput(
                f"{folder} already holds a record; go on with `everlearn resume {folder}` or choose another"
            )
        if names - BEGINNINGS:
            raise BadInput(f"{folder} holds something else; choose a new folder for the record")
        above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write {folder}: {above} is not a folder you may write to; choose another")


def begin(folder: Path, spec: str, name: str | None = None) -> None:
    """Make a record's folder with its spec; of several at once only one succeeds."""
    check_free(folder)
    files.make_folder(folder)
    with RecordLock(folder):
        check_free(folder)
        if name is not None:
            files.write(folder / NAME, name.encode() + b"\n")
        files.write(folder / SPEC, spec.encode() + b"\n")


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a log; a last line that is only half there is not an object yet."""
    if not path.exists():
        return
    with path.open("rb") as log:
        for number, line in enumerate(log, 1):
            if line.endswith(b"\n"):
                yield _parse(line, f"{path}, line {number},")


def lines_backwards(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a log, newest first, reading no more of it than is asked for."""
    if not path.exists():
        return
    with path.open("rb") as log:
        end, rest = log.seek(0, os.SEEK_END), b""
        is_tail = True
        while end > 0:
            start = max(0, end - files.CHUNK_BYTES)
            log.seek(start)
            first, *whole = (log.read(end - start) + rest).split(b"\n")
            for line in reversed(whole[:-1] if is_tail else whole):
                yield _parse(line, str(path))
            end, rest, is_tail = start, first, False if whole else is_tail
        if rest and not is_tail:
            yield _parse(rest, str(path))


def _parse(line: bytes, where: str) -> dict[str, Any]:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where} is damaged: {error}; {RESTORE}") from None
    if not isinstance(read, dict):
        raise BadInput(f"{where} is damaged: it holds no object; {RESTORE}")
    return read


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path.read_text("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is damaged: {error}; {RESTORE}") from None
