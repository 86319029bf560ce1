"""Runs of the baselines: `python -m benchmarks.rivals_runs [NAME...]` runs what is missing.

Records are in records/rivals, where interrupted runs resume; results/rivals stores records without
checkpoints. `python -m benchmarks.rivals_page` writes docs/rivals.md.
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


def result_folder(stream: str, case: Case, seed: int) -> Path:
    """Folder of the stored record."""
    return RESULTS / f"{stream}-{case.name}-seed-{seed}"


def run_case(stream: str, case: Case, seed: int) -> None:
    """Run a case with its selected settings unless it is stored, and store its record."""
    tune(case)
    spec = case.spec(stream, chosen(case), seed)
    kept = result_folder(stream, case, seed)
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
    """The specification of a record, with defaults for newer settings."""
    return runs.RunSpec.from_mapping(runs.Record(folder).spec)


def accuracy(folder: Path) -> float:
    """Accuracy in percent on all test images after the last task."""
    *_, last = runs.Record(folder).evaluations()
    return float(100.0 * sum(last["n_correct"]) / sum(last["n_images"]))


def scores(stream: str, case: Case) -> list[float]:
    """The accuracy of each stored seed."""
    folders = [result_folder(stream, case, seed) for seed in case.seeds]
    return [accuracy(folder) for folder in folders if folder.is_dir()]


def main(names: list[str]) -> None:
    """Run the named cases, or all; all cases with one seed before any with two."""
    for seed in sorted({seed for case in CASES for seed in case.seeds}):
        for stream in STREAMS:
            for case in CASES:
                if seed in case.seeds and (case.name in names or not names):
                    run_case(stream, case, seed)


if __name__ == "__main__":
    main(sys.argv[1:])
