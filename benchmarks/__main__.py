"""Run all benchmarks, or those named: `python -m benchmarks render shapes`."""

import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks.table import keep, show

RESULTS = Path(__file__).parent / "results"
PREFIX = "bench_"


def main(names: list[str]) -> None:
    """Run, print and keep each section."""
    known = [
        m.name.removeprefix(PREFIX)
        for m in pkgutil.iter_modules(benchmarks.__path__)
        if m.name.startswith(PREFIX)
    ]
    for name in names or known:
        if name not in known:
            sys.exit(f"unknown benchmark {name!r}; known are {', '.join(known)}")
        rows = importlib.import_module(f"benchmarks.{PREFIX}{name}").run()
        show(name, rows)
        keep(RESULTS / f"{name}.json", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
