"""What a command line did, and what lies on the disk afterwards."""

import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from everlearn import runs

EVERLEARN = Path(sys.executable).with_name("everlearn")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def tree(folder: Path) -> dict[str, str]:
    """What lies in a folder: every name, with a hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


def assert_refused(outcome: Outcome) -> None:
    """One sentence for people, exit code 2, and nothing else."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("everlearn: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err.endswith("\n")
    assert "Traceback" not in outcome.err
    assert not re.search(r"pydantic|cyclopts|errors\.\w+:|<class|object at 0x", outcome.err)
    assert 20 < len(outcome.err) < 1000


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


def record_of(learner: str, folder: Path, **settings: object) -> Path:
    """The finished record of a run of moments."""
    spec = runs.RunSpec.make(learner=learner, settings={**SETTINGS, **settings})
    for _ in runs.record(spec, folder):
        pass
    return folder
