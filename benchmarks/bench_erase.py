"""Erasing a class: predictions of the class and bytes of its image that remain."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.table import Row
from everlearn.cli import main
from everlearn.learners.dcl import DCL
from everlearn.runs import Record, RunSpec, record
from everlearn.runs.memory_edit import load_run

ERASED = 13
SETTINGS = {"n_tasks": 3, "stream.image_size": 32, "evaluation.n_images": 100}


def run() -> list[Row]:
    """Erase a class of the second of three tasks with `everlearn memory forget`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for _ in record(RunSpec.make(learner="dcl", settings=SETTINGS), path):
            pass
        patches = _patches(_learner(path))
        before, bytes_before = _predictions(path), _remaining(path, patches)
        if main(["memory", "forget", str(path), str(ERASED)]):
            raise RuntimeError(f"class {ERASED} could not be erased")
        after, bytes_after = _predictions(path), _remaining(path, patches)
    return [
        Row("predictions of a class on its 625 images, before erasing", before, "predictions"),
        Row("predictions of the class after erasing", after, "predictions", goal=0, at_most=True),
        Row("bytes of its image in the record, before erasing", bytes_before, "bytes"),
        Row("bytes of its image in the record, after erasing", bytes_after, "bytes", goal=0, at_most=True),
    ]


def _learner(path: Path) -> DCL:
    learner = load_run(Record(path)).learner
    assert isinstance(learner, DCL)
    return learner


def _patches(learner: DCL) -> list[bytes]:
    """Pixel rows that occur only in the image of the class."""
    rows = learner.memory.images.reshape(-1, learner.image_shape[1])
    own = learner.memory.images_of(ERASED)[0]
    return [row.tobytes() for row in own if (rows == row).all(1).sum() == 1]


def _remaining(path: Path, patches: list[bytes]) -> int:
    held = [file.read_bytes() for file in path.rglob("*") if file.is_file()]
    return sum(len(patch) for patch in patches if any(patch in data for data in held))


def _predictions(path: Path) -> int:
    task = load_run(Record(path)).stream.task(1)
    shown = [part[part.labels == ERASED].images for part in (task.train, task.val, task.test)]
    return int((_learner(path).predict(np.concatenate(shown)) == ERASED).sum())
