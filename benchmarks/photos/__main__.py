"""Run query sets with methods: `python -m benchmarks.photos [--set NAME] [--method NAME] [--again]`.

Results are stored after each condition, and stored results are computed again only with --again, so an
interrupted run continues.
"""

import argparse
import sys

from benchmarks.photos.layers import VARIANTS
from benchmarks.photos.methods import METHODS
from benchmarks.photos.records import accuracy, evaluate, load, merged, store, version
from benchmarks.photos.sets import SETS
from everlearn.errors import BadInput


def main(words: list[str]) -> None:
    """Run and store what is missing, and print the accuracy of each condition."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.photos")
    parser.add_argument("--set", choices=SETS, action="append", help="query set; all without it")
    parser.add_argument(
        "--method", choices=(*METHODS, "layers"), action="append", help="method; all without it"
    )
    parser.add_argument(
        "--again", action="store_true", help="run also what is stored, unless with this version"
    )
    options = parser.parse_args(words)
    for name in options.set or SETS:
        chosen = options.method or SETS[name].methods
        for method in VARIANTS if chosen == ["layers"] else chosen:
            _run(name, method, again=options.again)
            _show(name, method)


def _run(name: str, method: str, *, again: bool) -> None:
    old = load(name, method)
    results = [each for each in old if not again or each.version == version()]
    try:
        for result in evaluate(method, SETS[name], results):
            results.append(result)
            store(name, method, merged(results, old))
    except BadInput as error:
        print(f"{name}, {method}: not run; {error}", file=sys.stderr)


def _show(name: str, method: str) -> None:
    results = load(name, method)
    for trial, condition in dict.fromkeys((result.trial, result.condition) for result in results):
        same = [result for result in results if (result.trial, result.condition) == (trial, condition)]
        print(f"{name:10} {method:24} {trial}, {condition}: {accuracy(same)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
