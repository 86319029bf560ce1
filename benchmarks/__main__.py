"""Run all benchmarks, or the named ones: `python -m benchmarks render shapes`.

Results are stored in the folder of this kind of processor, and compared in docs/benchmarks.md. Options after
a single name are passed to that benchmark.
"""

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks.processors import RESULTS, kind, processor
from benchmarks.table import keep, show

PREFIX = "bench_"


def main(words: list[str]) -> None:
    """Run benchmarks, print and store their results."""
    first_option = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:first_option], words[first_option:]
    if options and len(names) != 1:
        sys.exit(f"{options[0]} is an option of one benchmark; name that one before it")
    known = [
        m.name.removeprefix(PREFIX)
        for m in pkgutil.iter_modules(benchmarks.__path__)
        if m.name.startswith(PREFIX)
    ]
    for name in names or known:
        if name not in known:
            sys.exit(f"unknown benchmark {name!r}; known are {', '.join(known)}")
        rows = importlib.import_module(f"benchmarks.{PREFIX}{name}").run(*options)
        show(name, rows)
        keep(RESULTS / kind(processor()) / f"{name}.json", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
