"""Results of command lines, and small records."""

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from everlearn import runs

EVERLEARN = Path(sys.executable).with_name("everlearn")
SMALL = ("--image-size", "16", "--factor-values", "2", "--set", "stream.split=10,3,3")
"""A stream whose tasks take no time."""
SETTINGS = {
    "stream.image_size": 16,
    "stream.factor_values": 2,
    "stream.split": [8, 3, 3],
    "stream.held_out": 2,
    "stream.classes_per_task": 3,
    "n_tasks": 2,
}


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The result of a command with --json."""
        assert self.code == 0, self.err
        return dict(json.loads(self.out.splitlines()[-1]))


Run = Callable[..., Outcome]


def assert_refused(outcome: Outcome) -> None:
    """One line with an error and exit code 2."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("everlearn: ")
    assert outcome.err.endswith("\n")
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    assert not re.search(r"pydantic|cyclopts|errors\.\w+:|<class|object at 0x", outcome.err)
    assert 20 < len(outcome.err) < 1000


def tree(folder: Path) -> dict[str, str]:
    """Every path in a folder, with a hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


def record_of(learner: str, folder: Path, **settings: object) -> Path:
    """The record of a short finished run."""
    spec = runs.RunSpec.make(learner=learner, settings={**SETTINGS, **settings})
    for _ in runs.record(spec, folder):
        pass
    return folder
