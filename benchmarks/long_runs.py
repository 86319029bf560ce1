"""Experience replay over 500 tasks (figure 4): `python -m benchmarks.long_runs FOLDER NAME...`.

A name is the size of the buffer, er-1k to er-20k, with -seed-0 to -seed-2. Runs come one after another on one
core; a run that was stopped resumes, a finished one is not repeated. Without names all runs, seed by seed.
"""

import sys
from pathlib import Path

from everlearn import runs
from everlearn.runs import RunSpec

SIZES = {"er-1k": 1000, "er-2k": 2000, "er-5k": 5000, "er-10k": 10_000, "er-20k": 20_000}
SEEDS = (0, 1, 2)
SETTINGS = {
    "n_tasks": 500,
    "batch_size": 32,
    "amp": True,
    "device": "cpu",
    "threads": 1,
    "learner.replay_size": 96,
    "evaluation.every_n_tasks": 10,
    "evaluation.forward_transfer": False,
}


def spec(size: str, seed: int) -> RunSpec:
    """The specification of a run: the defaults of `er`, each new image once with three replayed ones."""
    own = {"learner.memory_size": SIZES[size], "seed": seed, "stream.seed": seed}
    return RunSpec.make(learner="er", settings={**SETTINGS, **own})


ALL = {f"{size}-seed-{seed}": (size, seed) for seed in SEEDS for size in SIZES}


def main(folder: Path, names: list[str]) -> None:
    """Run or resume the named runs."""
    for name in names or ALL:
        size, seed = ALL[name]
        record, wanted = folder / name, spec(size, seed)
        for _ in runs.resume(record, wanted) if runs.has_record(record) else runs.record(wanted, record):
            continue
        print(f"{name} is complete", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
