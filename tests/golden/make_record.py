"""Create the record of the current format: python tests/golden/make_record.py FOLDER

It must stay resumable. One folder per released format is kept; an old one is never created again.
"""

import shutil
import sys
from pathlib import Path

from everlearn.runs import Record, RunSpec, record, recorder
from everlearn.runs.events import TaskEnded

SETTINGS = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "n_tasks": 6,
    "batch_size": 16,
    "evaluation.n_images": 20,
    "evaluation.every_n_batches": 1,
}


def main(folder: Path) -> None:
    """Interrupt a run, and finish a copy of it."""
    recorder.MAX_CHECKPOINT_OVERHEAD = 1e12
    events = record(RunSpec.make(learner="nearest", settings=SETTINGS), folder)
    while not (isinstance(event := next(events), TaskEnded) and event.task == 2):
        pass
    del events
    (folder / ".lock").unlink()
    finished = folder.with_name(f"{folder.name}-finished")
    shutil.copytree(folder, finished)
    for _ in recorder.resume(finished):
        pass
    (folder.parent / f"{folder.name}.digest").write_text(Record(finished).digest + "\n")
    shutil.rmtree(finished)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
