"""Erase a class: does any answer name it still, and is any byte of its image left?"""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.table import Row
from everlearn.cli import main
from everlearn.learners.dcl import DCL
from everlearn.runs import Record, RunSpec, record
from everlearn.runs.memory_edit import opened

ERASED = 13
SETTINGS = {"n_tasks": 3, "stream.image_size": 32, "evaluation.probe_size": 100}


def run() -> list[Row]:
    """A class of the second of three tasks, erased by the command that people use."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for _ in record(RunSpec.make(learner="dcl", settings=SETTINGS), path):
            pass
        patches = _patches(_learner(path))
        before, bytes_before = _answers(path), _left(path, patches)
        if main(["memory", "forget", str(path), str(ERASED)]):
            raise RuntimeError(f"class {ERASED} could not be erased")
        after, bytes_after = _answers(path), _left(path, patches)
    return [
        Row("answers that name a class, of its 625 images, before it is erased", before, "answers"),
        Row("answers that name it afterwards", after, "answers", goal=0, at_most=True),
        Row("bytes of its image in the record before", bytes_before, "bytes"),
        Row("bytes of its image in the record afterwards", bytes_after, "bytes", goal=0, at_most=True),
    ]


def _learner(path: Path) -> DCL:
    learner = opened(Record(path)).learner
    assert isinstance(learner, DCL)
    return learner


def _patches(learner: DCL) -> list[bytes]:
    """Rows of the class's image that no other image has."""
    rows = learner.memory.images.reshape(-1, learner.image_shape[1])
    own = learner.memory.images_of(ERASED)[0]
    return [row.tobytes() for row in own if (rows == row).all(1).sum() == 1]


def _left(path: Path, patches: list[bytes]) -> int:
    held = [file.read_bytes() for file in path.rglob("*") if file.is_file()]
    return sum(len(patch) for patch in patches if any(patch in data for data in held))


def _answers(path: Path) -> int:
    task = opened(Record(path)).stream.task(1)
    shown = [part[part.labels == ERASED].images for part in (task.train, task.val, task.test)]
    return int((_learner(path).predict(np.concatenate(shown)) == ERASED).sum())
