"""See forgetting happen: DCL, replay and a plain network meet the same tasks, two at a time."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from rich.progress import Progress

from everlearn import reports, runs
from everlearn.evaluation import average_accuracy

FOLDER, LEARNERS = Path("demo"), ("dcl", "er", "naive")
STREAM = "--image-size 32 --factor-values 4 --epochs 2 --batch-size 32"


def play(learner: str, n_tasks: int) -> None:
    """Play a run on one core; go on with it if it was interrupted."""
    folder, everlearn = FOLDER / learner, Path(sys.executable).with_name("everlearn")
    begin = f"run --learner {learner} --record {folder} --tasks {n_tasks} {STREAM}"
    words = f"resume {folder}" if (folder / "spec.json").exists() else begin
    one_core = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([everlearn, *words.split()], check=True, env=one_core, stdout=subprocess.DEVNULL)  # noqa: S603


def main(n_tasks: int = 20) -> None:
    """Play all, show how it goes, draw what came of it."""
    FOLDER.mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool, Progress() as progress:
        jobs = [pool.submit(play, learner, n_tasks) for learner in LEARNERS]
        bars = {learner: progress.add_task(learner, total=n_tasks) for learner in LEARNERS}
        is_playing = True
        while is_playing:
            is_playing = bool(wait(jobs, timeout=0.5).not_done)
            for record in runs.list_records(FOLDER):  # a record can be read while it is being written
                name, accuracy = record.folder.name, average_accuracy(record.score_table())
                word = f"{name:<6}accuracy on all tasks so far {accuracy:.3f}"
                progress.update(bars[name], completed=record.n_tasks_played, description=word)
    for job in jobs:
        job.result()  # says what went wrong, if anything did
    records = [runs.Record(FOLDER / learner) for learner in LEARNERS]
    figure = reports.figure("forgetting", records, FOLDER / "forgetting.png")
    page = reports.html(records, FOLDER / "report.html")
    print(f"The figure is {figure.resolve()}\nThe report is {page.resolve()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
