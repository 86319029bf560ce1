"""The record of a run: a folder that can be read without torch, while the run goes on.

spec.json        specification of the run
name.txt         name given by the user, if any
sources.json     files and hashes of a learner, stream or backbone from outside the package, if any
events.jsonl     events, one per line
scores.jsonl     accuracy on past tasks, one evaluation per line
probes.jsonl     probe results, one evaluation per line; only for learners without a classifier
seconds.jsonl    duration and CPU time of each task, duration of its phases: render, train, evaluate, save
data-*.npz       images of a stream that was made from arrays in memory
machine.json     versions and hardware, and whether the result is exactly reproducible
checkpoint/      states to resume from
protocols/       results of evaluation protocols
slim.json        digest of the full logs, if losses of single batches were left out (see `slim`)
"""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import BadInput
from everlearn.evaluation import Row, ScoreTable
from everlearn.files import LOCK, FolderLock
from everlearn.runs.events import RunEnded, TaskEnded, TrainStep
from everlearn.runs.run_files import RESTORE, Checkpoints, read_log, read_log_reversed
from everlearn.settings import check_format, differences, read_json

SPEC, NAME, SOURCES, MACHINE = "spec.json", "name.txt", "sources.json", "machine.json"
EVENTS, SCORES, PROBES, SECONDS = "events.jsonl", "scores.jsonl", "probes.jsonl", "seconds.jsonl"
REPRODUCIBLE_LOGS = (EVENTS, SCORES, PROBES)
"""Logs that are equal for equal runs; the other files depend on the machine."""
PROTOCOLS, SLIM = "protocols", "slim.json"
CREATION_FILES = {LOCK, f".{SPEC}.new", NAME, f".{NAME}.new", SOURCES, f".{SOURCES}.new"}
"""Files that an interrupted creation of a record may leave, besides data."""
DATA = re.compile(r"\.?data-[0-9a-f]{12}\.npz(\.new)?")
"""Images that existed only in memory when the run was started."""
MAX_NAME = 200
MAX_SLUG = 60


class RecordLock(FolderLock):
    """Held while a run writes to its record."""

    message = "{folder} is in use by {holder}; wait for it or stop it"


class Record:
    """The record of one run, opened for reading.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> run = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> record = Record(folder)
        >>> record.is_finished, record.n_tasks_done, record.spec["learner"]["name"]
        (True, 2, 'nearest')
        >>> next(record.events())["event"]
        'run-started'
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = check_folder(folder)
        if not (self.folder / SPEC).is_file():
            raise BadInput(
                f"{self.folder} is not a record (it has no {SPEC}); `everlearn list` shows records"
            )

    def __repr__(self) -> str:
        return f"<record {self.folder.name}: {self.spec['learner']['name']}, {self.n_tasks_done} tasks>"

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The specification of the run, as plain values."""
        spec = _read_json(self.folder / SPEC)
        check_format(spec, f"the record {self.folder}")
        if not all(isinstance(spec.get(section), dict) for section in ("stream", "learner")):
            raise BadInput(f"{self.folder / SPEC} is damaged: it has no stream or no learner; {RESTORE}")
        return spec

    @property
    def name(self) -> str:
        """The name given by the user, or an empty string."""
        path = self.folder / NAME
        return check_name(path.read_text("utf-8", errors="replace").strip()) if path.is_file() else ""

    @property
    def sources(self) -> dict[str, Any]:
        """Origins of components from outside the package, by reference."""
        path = self.folder / SOURCES
        return _read_json(path) if path.is_file() else {}

    @property
    def spec_hash(self) -> str:
        """Hash of the spec file."""
        return files.sha256((self.folder / SPEC).read_bytes().strip())

    def events(self) -> Iterator[dict[str, Any]]:
        """Logged events, in order."""
        return read_log(self.folder / EVENTS)

    def evaluations(self) -> Iterator[dict[str, Any]]:
        """Evaluations on past tasks, in order."""
        return read_log(self.folder / SCORES)

    def probes(self) -> Iterator[dict[str, Any]]:
        """Probe evaluations, in order; none for classifiers."""
        return read_log(self.folder / PROBES)

    def seconds(self) -> Iterator[dict[str, Any]]:
        """Duration and CPU time of each task, and duration of its phases, in order."""
        return read_log(self.folder / SECONDS)

    @property
    def scores(self) -> ScoreTable:
        """Accuracy on task j after training on task i."""
        table = ScoreTable()
        for row in self.evaluations():
            if row["n_batches"] is None:
                table.set_row(
                    Row.from_counts(row["task"], row["eval_tasks"], row["n_correct"], row["n_images"])
                )
        return table

    def protocol_results(self) -> dict[str, dict[str, Any]]:
        """Results of evaluation protocols by name, without those of an earlier state of the run."""
        results = {path.stem: _read_json(path) for path in sorted((self.folder / PROTOCOLS).glob("*.json"))}
        digest = self.digest if results else ""
        return {name: result for name, result in results.items() if result.get("digest") == digest}

    @property
    def n_tasks_done(self) -> int:
        """Tasks that are trained on and evaluated; reads only the end of the log."""
        for event in read_log_reversed(self.folder / EVENTS):
            if event["event"] == TaskEnded.kind:
                return int(event["task"]) + 1
        return 0

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended."""
        last = self.last_event
        return last is not None and last["event"] == RunEnded.kind

    @property
    def last_event(self) -> dict[str, Any] | None:
        """The last logged event."""
        return next(read_log_reversed(self.folder / EVENTS), None)

    @property
    def machine(self) -> dict[str, Any]:
        """Versions and hardware of the run; empty before it started."""
        path = self.folder / MACHINE
        return _read_json(path) if path.is_file() else {}

    @property
    def is_exact(self) -> bool:
        """Whether the whole run was computed with the same versions and hardware."""
        return bool(self.machine.get("exact", True))

    @property
    def digest(self) -> str:
        """Hash of the logs, which include a hash of the learner; equal for equal runs, interrupted or not.

        A slim record has the digest of its full logs, as long as it does not change.
        """
        own, path = self._hash_logs(), self.folder / SLIM
        slim = _read_json(path) if path.is_file() else {}
        return str(slim["full"]) if slim.get("slim") == own else own

    def _hash_logs(self, events: bytes | None = None) -> str:
        """Hash of the logs, with other events if given."""
        sha = hashlib.sha256(events or b"")
        for path in (self.folder / name for name in REPRODUCIBLE_LOGS if name != EVENTS or events is None):
            if path.is_file():
                with path.open("rb") as log:
                    while block := log.read(files.CHUNK_BYTES):
                        sha.update(block)
        return sha.hexdigest()[:32]

    def slim(self) -> None:
        """Remove the losses of all batches but the first of each task; results and digest stay the same.

        Makes the logs of finished records much smaller, such as those of a paper.
        """
        if not self.is_finished:
            raise BadInput(f"{self.folder} is not finished; finish it with `everlearn resume {self.folder}`")
        with RecordLock(self.folder):
            path = self.folder / EVENTS
            lines = path.read_bytes().splitlines(keepends=True)
            kept = b"".join(line for line in lines if not _is_later_batch(line))
            # The digests are written first, since they have no effect on full logs.
            hashes = {"full": self.digest, "slim": self._hash_logs(kept)}
            files.write(self.folder / SLIM, json.dumps(hashes, indent=1).encode() + b"\n")
            files.write(path, kept)

    @property
    def checkpoints(self) -> Checkpoints:
        """States to resume from."""
        return Checkpoints(self.folder / "checkpoint", self.spec_hash)

    def check_spec(self, spec: dict[str, Any]) -> None:
        """Raise an error that lists the differences if the record has another spec.

        Settings that did not exist when the record was created have their defaults.
        """
        from everlearn.runs.spec import RunSpec  # imports streams, which reading a record does not need

        complete = read_json(RunSpec.from_record(self).to_json(), "the spec")
        if changed := differences(complete, spec):
            raise BadInput(
                f"{self.folder} is the record of another run: {'; '.join(changed)}; choose a new folder"
            )


def _is_later_batch(line: bytes) -> bool:
    """Whether a line of the events is a training step other than the first of its task."""
    event = json.loads(line)
    return event["event"] == TrainStep.kind and (event["epoch"], event["batch"]) != (0, 0)


def list_records(folder: Path | str) -> list[Record]:
    """The records in a folder, sorted by name.

    Example:
        >>> from tempfile import mkdtemp
        >>> from everlearn.runs import RunSpec
        >>> folder = Path(mkdtemp())
        >>> for learner in ("naive", "er"):
        ...     RunSpec.make(learner=learner).create_record(folder / learner, None).release()
        >>> list_records(folder)
        [<record er: er, 0 tasks>, <record naive: naive, 0 tasks>]
    """
    root = check_folder(folder)
    if not root.is_dir():
        raise BadInput(f"there is no folder {root}; name a folder of records")
    return [Record(path.parent) for path in sorted(root.glob(f"*/{SPEC}"))]


def has_record(folder: Path) -> bool:
    """Whether a folder is a record.

    Example:
        >>> from tempfile import mkdtemp
        >>> has_record(Path(mkdtemp()))
        False
    """
    return (folder / SPEC).is_file()


def create_record(
    folder: Path,
    spec: str,
    name: str | None = None,
    sources: Mapping[str, Any] | None = None,
    save_data: Callable[[Path], None] | None = None,
) -> RecordLock:
    """Create a record with its spec and return its lock, which is held.

    If several processes try, one succeeds and holds the lock, which the others need to check the folder.
    `save_data` writes images that exist only in memory.
    """
    check_can_create(folder)
    files.make_folder(folder)
    lock = RecordLock(folder).acquire()
    check_can_create(folder)
    if name is not None:
        files.write(folder / NAME, name.encode() + b"\n")
    if sources:
        files.write(folder / SOURCES, json.dumps(sources, indent=1).encode() + b"\n")
    if save_data is not None:
        save_data(folder)
    files.write(folder / SPEC, spec.encode() + b"\n")
    return lock


def check_can_create(folder: Path) -> None:
    """Raise an error if no record can be created in a folder."""
    with files.os_error_context(folder):
        exists = folder.exists() or folder.is_symlink()
        names = {each.name for each in folder.iterdir()} if exists else set()
        # The spec is created first, so it is looked up last: another process may be creating its record.
        if has_record(folder):
            raise BadInput(
                f"{folder} already has a record; continue it with `everlearn resume {folder}` or "
                "choose another folder"
            )
        if any(each not in CREATION_FILES and not DATA.fullmatch(each) for each in names):
            raise BadInput(f"{folder} has other files; choose a new folder for the record")
        above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise BadInput(f"cannot write {folder}: {above} is not a writable folder; choose another")


def folder_name(name: str, identity: str) -> str:
    """A folder name of lowercase letters and digits for any name, ending in the start of a hash.

    Example:
        >>> folder_name("Größe: 2/3 ☂", "9f86d081884c7d65")
        'grosse-2-3-9f86d081'
    """
    plain = unicodedata.normalize("NFKD", check_name(name).casefold()).encode("ascii", "ignore").decode()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:MAX_SLUG].strip("-")
    return f"{slug or 'run'}-{identity[:8]}"


def check_name(name: str) -> str:
    """The name; raises an error if it is too long or has control characters."""
    bad = [letter for letter in name if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    if bad or len(name) > MAX_NAME:
        raise BadInput(f"{name!r:.60} is not a valid name; use one line of up to {MAX_NAME} characters")
    return name


def check_folder(folder: Path | str) -> Path:
    """The path; raises an error if no folder can have it.

    Example:
        >>> check_folder("records/er").name
        'er'
        >>> check_folder("")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: '' is not a valid folder; choose another
    """
    if "\0" in str(folder) or not str(folder).strip():
        raise BadInput(f"{str(folder)!r:.60} is not a valid folder; choose another")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise BadInput(f"{str(folder)!r:.60} is not a valid folder: it is not Unicode text") from None
    return Path(folder)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return read_json(path.read_text("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is damaged: {error}; {RESTORE}") from None
