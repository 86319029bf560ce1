"""The rivals' figures: `python -m benchmarks.rivals_runs [NAME...]` plays what is missing.

Records are played into records/rivals, where a stopped run goes on when asked again; what is kept in
results/rivals is all of a record but its checkpoints. `python -m benchmarks.rivals_page` writes
docs/rivals.md from it.
"""

import shutil
import sys
from pathlib import Path

from benchmarks.dcl_runs import KEPT
from benchmarks.rivals_cases import CASES, STREAMS, Case
from benchmarks.rivals_tuning import chosen, tune
from everlearn import runs

ROOT = Path(__file__).parent.parent
RECORDS, RESULTS = ROOT / "records" / "rivals", ROOT / "results" / "rivals"


def home(stream: str, case: Case, seed: int) -> Path:
    """Where the small part of a record is kept."""
    return RESULTS / f"{stream}-{case.name}-seed-{seed}"


def play(stream: str, case: Case, seed: int) -> None:
    """Play a run with its best settings, unless it was played, and keep its small part."""
    tune(case)
    spec = case.spec(stream, chosen(case), seed)
    kept = home(stream, case, seed)
    if kept.is_dir() and spec_of(kept) == spec:
        return
    folder = RECORDS / runs.folder_name(kept.name, spec.hash)
    for _ in runs.resume(folder) if (folder / "spec.json").is_file() else runs.record(spec, folder):
        continue
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for name in KEPT:
        if (folder / name).is_file():
            shutil.copy(folder / name, kept / name)
    print(f"{kept.name}: {accuracy(kept):.2f} %", flush=True)


def spec_of(folder: Path) -> runs.RunSpec:
    """What was played, with today's defaults for settings that did not exist then."""
    return runs.RunSpec.from_mapping(runs.Record(folder).spec)


def accuracy(folder: Path) -> float:
    """Percent right over all test images after the last task."""
    *_, last = runs.Record(folder).scores()
    return float(100.0 * sum(last["correct"]) / sum(last["total"]))


def scores(stream: str, case: Case) -> list[float]:
    """What every seed that was played reached."""
    homes = [home(stream, case, seed) for seed in case.seeds]
    return [accuracy(folder) for folder in homes if folder.is_dir()]


def main(names: list[str]) -> None:
    """Play the cases named, or all; every case with one seed before any with two."""
    for seed in sorted({seed for case in CASES for seed in case.seeds}):
        for stream in STREAMS:
            for case in CASES:
                if seed in case.seeds and (case.name in names or not names):
                    play(stream, case, seed)


if __name__ == "__main__":
    main(sys.argv[1:])
