"""Runs of DCL: `python -m benchmarks.dcl_runs [NAME...]` runs what is missing.

Records are in records/dcl, where interrupted runs resume; results/dcl stores records without checkpoints.
`python -m benchmarks.dcl_page` writes docs/dcl.md.
"""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from everlearn.runs import Record

ROOT = Path(__file__).parent.parent
RECORDS, RESULTS = ROOT / "records" / "dcl", ROOT / "results" / "dcl"
SEEDS = (0, 1, 2)
KEPT = ("spec.json", "machine.json", "events.jsonl", "scores.jsonl", "seconds.jsonl", "protocols")


@dataclass(frozen=True)
class Experiment:
    """A run and the protocols that are evaluated after it, as commands.

    Attributes:
        name: of its folder.
        arguments: of `everlearn run`.
        protocols: arguments of `everlearn evaluate`, without the folder of the record.
    """

    name: str
    arguments: str
    protocols: tuple[str, ...] = ()

    @property
    def commands(self) -> list[str]:
        """The commands."""
        folder = f"records/dcl/{self.name}"
        run = f"everlearn run --learner dcl --device cpu {self.arguments} --record {folder}"
        protocols = (each.partition(" ") for each in self.protocols)
        return [run, *(f"everlearn evaluate {name} {folder} {more}".strip() for name, _, more in protocols)]


def _seeded(name: str, arguments: str, protocols: tuple[str, ...] = ()) -> list[Experiment]:
    """Three seeds, each for the stream and the run."""
    return [
        Experiment(f"{name}-seed-{seed}", f"{arguments} --seed {seed} --set stream.seed={seed}", protocols)
        for seed in SEEDS
    ]


PLAIN = "--set evaluation.forward_transfer=false"
"""Classes are new in every task, so forward transfer is undefined."""
UNLABELLED = "--set learner.pose_supervision=exemplars"
TURNED = f"{UNLABELLED} --set learner.n_angles=24 {PLAIN}"

EXPERIMENTS = [
    *_seeded("500-tasks", f"--tasks 500 {PLAIN}"),
    *_seeded("200-tasks", f"--tasks 200 --set evaluation.every_n_tasks=10 {PLAIN}", ("one-shot", "open-set")),
    *_seeded("without-factors", f"--tasks 100 {UNLABELLED} --set evaluation.every_n_tasks=5 {PLAIN}"),
    Experiment("5000-tasks", f"--tasks 5000 --set evaluation.every_n_tasks=100 {PLAIN}"),
    Experiment(
        "omniglot",
        f"--stream omniglot --set stream.n_poses=40 {TURNED} --set learner.n_candidates=200 --epochs 30 "
        "--set evaluation.every_n_tasks=5",
    ),
    Experiment(
        "emoji",
        "--stream folder --data records/emoji/package/img/twitter/64 --set stream.n_poses=20 "
        f"--set stream.cut_out=false --classes-per-task 100 {TURNED} --set evaluation.every_n_tasks=5 "
        "--epochs 3",
    ),
]


def run_experiment(experiment: Experiment) -> None:
    """Run what is missing of an experiment and store its record."""
    folder = RECORDS / experiment.name
    run, *protocols = experiment.commands
    _execute(f"everlearn resume {folder.relative_to(ROOT)}" if (folder / "spec.json").is_file() else run)
    for command in protocols:
        if not (folder / "protocols" / f"{shlex.split(command)[2]}.json").is_file():
            _execute(command)
    shutil.rmtree(RESULTS / experiment.name, ignore_errors=True)
    (RESULTS / experiment.name).mkdir(parents=True)
    for name in KEPT:
        if (folder / name).is_dir():
            shutil.copytree(folder / name, RESULTS / experiment.name / name)
        elif (folder / name).is_file():
            shutil.copy(folder / name, RESULTS / experiment.name / name)
    Record(RESULTS / experiment.name).slim()


def _execute(command: str) -> None:
    print(f"$ {command}", flush=True)
    arguments = [sys.executable, "-m", *shlex.split(command)]
    subprocess.run(arguments, cwd=ROOT, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"unknown experiment {name!r}; known are {', '.join(known)}")
        run_experiment(known[name])
