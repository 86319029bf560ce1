"""A run on disk: a folder that anyone can read, with or without torch.

    spec.json        what is played
    events.jsonl     what happened, one event a line
    scores.jsonl     right answers on past tasks, one evaluation a line
    seconds.jsonl    how long each task took here (the only file that depends on the machine)
    checkpoint/      where to go on
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import BadInput
from everlearn.evaluation import ScoreTable
from everlearn.runs.checkpoint import Checkpoints

STORY = ("events.jsonl", "scores.jsonl")
"""The logs that are the same for equal runs."""
SECONDS = "seconds.jsonl"


class Record:
    """The folder of one run, opened for reading.

    Args:
        folder: the record's folder; it must hold a spec.json.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "spec.json").is_file():
            raise BadInput(f"{self.folder} is not a record (it has no spec.json); `everlearn list` shows records")

    def __repr__(self) -> str:
        return f"<record {self.folder.name}: {self.spec['learner']['name']}, {self.n_tasks_played} tasks>"

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What is played, as plain values."""
        text = (self.folder / "spec.json").read_text("utf-8")
        try:
            spec = json.loads(text)
        except ValueError as error:
            raise BadInput(f"{self.folder / 'spec.json'} is damaged: {error}") from None
        if not isinstance(spec, dict):
            raise BadInput(f"{self.folder / 'spec.json'} is damaged: it holds no settings")
        return spec

    @property
    def spec_hash(self) -> str:
        """The hash of the spec as it was written."""
        return hashlib.sha256((self.folder / "spec.json").read_bytes().strip()).hexdigest()

    def events(self) -> Iterator[dict[str, Any]]:
        """What happened, in order."""
        return lines(self.folder / "events.jsonl")

    def scores(self) -> Iterator[dict[str, Any]]:
        """Evaluations, in order."""
        return lines(self.folder / "scores.jsonl")

    def seconds(self) -> Iterator[dict[str, Any]]:
        """How long each task took; a task played again after a crash appears again."""
        return lines(self.folder / SECONDS)

    def score_table(self) -> ScoreTable:
        """Accuracy on task j after task i."""
        table = ScoreTable()
        for row in self.scores():
            if row["batch"] is None:
                accuracies = [c / t for c, t in zip(row["correct"], row["total"], strict=True)]
                table.add_row(row["task"], dict(zip(row["tasks"], accuracies, strict=True)))
        return table

    @property
    def n_tasks_played(self) -> int:
        """Tasks that are learned and scored."""
        return sum(event["event"] == "task-ended" for event in self.events())

    @property
    def is_finished(self) -> bool:
        """Whether the last task was played."""
        return any(event["event"] == "run-ended" for event in self.events())

    @property
    def digest(self) -> str:
        """A hash over scores, learner and memory; equal for equal runs whatever interrupted them."""
        story = hashlib.sha256()
        for name in STORY:
            story.update((self.folder / name).read_bytes())
        return story.hexdigest()[:32]

    @property
    def checkpoints(self) -> Checkpoints:
        """Where the run can go on."""
        return Checkpoints(self.folder / "checkpoint", self.spec_hash)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a log; a last line that is only half there is not an object yet."""
    if not path.exists():
        return
    with path.open("rb") as log:
        for number, line in enumerate(log, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                raise BadInput(f"{path} is damaged in line {number}: {error}") from None


def write_spec(folder: Path, text: str) -> None:
    """Make a record's folder; refused if something is there already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} already exists; resume it with `everlearn resume {folder}` or choose another")
    with files.told_apart(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files.write(folder / "spec.json", text.encode() + b"\n")
