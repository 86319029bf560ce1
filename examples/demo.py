"""Train DCL, experience replay and naive fine-tuning on the same tasks, and plot their average accuracy."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from rich.progress import Progress

from everlearn import reports, runs
from everlearn.evaluation import average_accuracy

FOLDER, LEARNERS = Path("demo"), ("dcl", "er", "naive")
STREAM = "--image-size 32 --epochs 2 --batch-size 32"


def train(learner: str, n_tasks: int, factor_values: int) -> None:
    """Train a learner on one core; an interrupted run is resumed."""
    folder, everlearn = FOLDER / learner, Path(sys.executable).with_name("everlearn")
    size = f"--tasks {n_tasks} --factor-values {factor_values}"
    start = f"run --learner {learner} --record {folder} {STREAM} {size}"
    command = f"resume {folder}" if (folder / "spec.json").exists() else start
    one_core = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([everlearn, *command.split()], check=True, env=one_core, stdout=subprocess.DEVNULL)  # noqa: S603


def main(n_tasks: int = 20, factor_values: int = 4) -> None:
    """Train all learners with progress bars, then draw the figure."""
    FOLDER.mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool, Progress() as progress:
        jobs = [pool.submit(train, learner, n_tasks, factor_values) for learner in LEARNERS]
        bars = {learner: progress.add_task(learner, total=n_tasks) for learner in LEARNERS}
        is_running = True
        while is_running:
            is_running = bool(wait(jobs, timeout=0.5).not_done)
            for record in runs.list_records(FOLDER):  # records can be read during a run
                name, accuracy = record.folder.name, average_accuracy(record.scores)
                text = f"{name:<6}average accuracy {accuracy:.3f}"
                progress.update(bars[name], completed=record.n_tasks_done, description=text)
    for job in jobs:
        job.result()  # raises the error of a failed run
    records = [runs.Record(FOLDER / learner) for learner in LEARNERS]
    figure = reports.figure("accuracy", records, FOLDER / "accuracy.png")
    page = reports.html(records, FOLDER / "report.html")
    print(f"The figure is {figure.resolve()}\nThe report is {page.resolve()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
