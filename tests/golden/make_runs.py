"""The numbers that a restructuring must not move: `python -m tests.golden.make_runs` writes runs.json again.

Usage, from the root of the repository:

    python -m tests.golden.make_runs                          all values
    python -m tests.golden.make_runs 'learners/gnr*'          those of some cases
    python -m tests.golden.make_runs 'learners/*' --field state    one field of some cases

`--field` keeps all other fields, so that a state with another representation gets a new digest while losses
and predictions stay pinned. With `--values` the values are computed here and printed, in an environment that
was made exact before (`exact_environment`).
"""

import argparse
import ast
import fnmatch
import hashlib
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.errors import Notice
from tests.golden import adapter

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VALUES = HERE / "runs.json"
SOURCE = ROOT / "src"
VERSIONED = ("torch", "numpy", "pyarrow", "pillow")
EXACT = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
"""Arithmetic that is the same on every x86-64 processor with AVX2. Kernels that everlearn compiles with numba
give the same bits on all processors and need nothing."""


def has_avx2() -> bool:
    return bool(_cpu_features().get("AVX2"))


def exact_environment() -> dict[str, str]:
    """The environment in which values are computed."""
    wide = [name for name in _umath().__cpu_dispatch__ if name.startswith("AVX512") or name == "X86_V4"]
    disabled = [name for name in wide if _cpu_features().get(name)]
    path = os.pathsep.join([str(SOURCE), str(ROOT)])
    return {**os.environ, **EXACT, "NPY_DISABLE_CPU_FEATURES": " ".join(disabled), "PYTHONPATH": path}


def versions() -> dict[str, str]:
    """Of the libraries that values depend on; of torch without its build."""
    return {name: importlib.metadata.version(name).partition("+")[0] for name in VERSIONED}


def compute(cases: Iterable[str]) -> dict[str, Any]:
    """The values of cases, from one process of their own."""
    command = [sys.executable, "-m", "tests.golden.make_runs", "--values", *cases]
    done = subprocess.run(command, env=exact_environment(), cwd=ROOT, stdout=subprocess.PIPE, check=True)
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def cases() -> dict[str, Callable[[], dict[str, Any]]]:
    """What computes the values of each case. Real data is missing where EVERLEARN_DATA is not set."""
    real = adapter.REAL_STREAMS if adapter.has_real_data() else {}
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for name, case in adapter.LEARNERS.items():
        found[f"learners/{name}"] = partial(learner_values, case)
    for name, settings in {**adapter.STREAMS, **real}.items():
        found[f"streams/{name}"] = partial(stream_values, settings)
    found["streams/relations"] = relation_values
    for name in adapter.PROTOCOLS:
        found[f"protocols/{name}"] = partial(protocol_values, name)
    for name, settings in adapter.EXPORTED.items():
        for to in adapter.EXPORT_FORMATS:
            found[f"exports/{to}, {name}"] = partial(export_values, settings, to)
    for name, run in adapter.RUNS.items():
        found[f"runs/{name}"] = partial(run_values, *run)
    return found


def learner_values(case: adapter.Case) -> dict[str, Any]:
    stream = _learner_stream(case.stream)
    learner = adapter.build_learner(case.learner, case.settings, stream)
    tests = [task.test for task in stream]
    losses, predictions, held = [], [], []
    for task in stream:
        losses.append(
            [list(each.values()) for each in adapter.train(learner, task, case.batch_size, case.n_batches)]
        )
        predictions.append([learner.predict(test.images[:12], _tasks(test)).tolist() for test in tests])
        held.append(adapter.footprint(learner))
    images = tests[0].images[:8]
    return {
        "losses": losses,
        "predictions": predictions,
        "footprint": held,
        "capabilities": {name: digest(found) for name, found in adapter.capabilities(learner, images)},
        "state": state_digest(learner.state()),
    }


def stream_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        stream = adapter.build_stream(settings, Path(folder))
        n_tasks = min(3, stream.n_tasks or 3)
        return {
            "id": stream.id,
            "n_tasks": stream.n_tasks,
            "fingerprint": stream.fingerprint(),
            "labels": [task.labels for task in stream.take(n_tasks)],
            "tasks": [task_digest(task) for task in stream.take(n_tasks)],
            "probe": batch_digest(stream.eval_sample(n_tasks, size=20)),
        }


def relation_values() -> dict[str, Any]:
    return {"batches": [batch_digest(batch) for batch in adapter.relations()]}


def protocol_values(name: str) -> dict[str, Any]:
    trained, ask = adapter.PROTOCOLS[name]
    learner, stream, before = _trained(trained)
    result = adapter.result_json(ask(learner, stream))
    assert state_digest(learner.state()) == before, "a protocol must leave the learner as it was"
    return {"values": list(leaves(result))}


def export_values(settings: Mapping[str, Any], to: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "export"
        stream = adapter.write_export(settings, folder, to)
        content = {"fingerprint": stream.fingerprint(), "tasks": [task_digest(task) for task in stream]}
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        sums = {name: sha256((folder / name).read_bytes()) for name in names if name not in adapter.NO_DATA}
    images = {name: each for name, each in sums.items() if name.endswith(".png")}
    others = {name: each for name, each in sums.items() if name not in images}
    return {**content, "files": {**others, f"{len(images)} images": sha256(repr(images).encode())}}


def run_values(stream: str, learner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    spec = adapter.run_spec(stream, learner, settings)
    with tempfile.TemporaryDirectory() as folder:
        made = adapter.run_to_the_end(spec, Path(folder) / "whole")
        resumed = adapter.run_with_a_stop(spec, Path(folder) / "stopped")
        assert resumed.digest == made.digest, "a run that was stopped and resumed must be the same run"
        logs = {name: [list(leaves(line)) for line in lines] for name, lines in adapter.logs(made).items()}
        return {"scores": adapter.score_matrix(made), "logs": logs}


def purposes() -> list[str]:
    """The random purposes in the source; {} stands for what is only known at run time."""
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    takers = {node.name for node in nodes if isinstance(node, ast.FunctionDef) and _takes_purpose(node)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    found = adapter.buffer_purposes()
    for call in calls:
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in takers:
            found |= {text for text in map(_text, call.args[:2]) if text is not None}
    return sorted(found)


def _takes_purpose(function: ast.FunctionDef) -> bool:
    return any(argument.arg == adapter.PURPOSE_ARGUMENT for argument in function.args.args)


def _text(node: ast.expr) -> str | None:
    """A string or an f-string in the source."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def leaves(tree: Any) -> Iterator[Any]:
    """Numbers, truth values and None in their order, without keys and words; of an image its digest."""
    if isinstance(tree, Mapping):
        image = adapter.packed_image(tree)
        yield from (
            [digest(image)] if image is not None else (x for each in tree.values() for x in leaves(each))
        )
    elif isinstance(tree, list | tuple):
        yield from (x for each in tree for x in leaves(each))
    elif isinstance(tree, np.ndarray | np.generic):
        yield from leaves(tree.tolist())
    elif not isinstance(tree, str):
        yield tree


def state_digest(state: Mapping[str, Any]) -> str:
    """Of all arrays with more than one element, whatever they are called and wherever they are."""
    return sha256("".join(sorted(array_digest(array) for array in _arrays(state))).encode())


def _arrays(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        yield from (x for each in tree.values() for x in _arrays(each))
    elif isinstance(tree, list | tuple):
        yield from (x for each in tree for x in _arrays(each))
    elif isinstance(tree, np.ndarray) and tree.size > 1:
        yield tree


def digest(found: Any) -> str:
    """Of an array, several arrays or a number."""
    parts = found if isinstance(found, tuple) else (found,)
    return sha256("".join(array_digest(np.asarray(part)) for part in parts).encode())


def task_digest(task: Any) -> str:
    return sha256("".join(batch_digest(getattr(task, name)) for name in adapter.SPLITS).encode())


def batch_digest(batch: Any) -> str:
    factors = None if batch.factors is None else adapter.factor_array(batch.factors)
    parts = [batch.images, batch.labels, factors, batch.tasks]
    return sha256("".join("none" if part is None else array_digest(part) for part in parts).encode())


def array_digest(array: Any) -> str:
    return sha256(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _tasks(test: Any) -> Any:
    return None if test.tasks is None else test.tasks[:12]


@cache
def _learner_stream(name: str) -> Any:
    return adapter.build_stream(adapter.LEARNER_STREAMS[name])


@cache
def _trained(name: str) -> tuple[Any, Any, str]:
    """A learner that protocols ask, its stream, and the digest of its state."""
    case, settings = adapter.TRAINED[name]
    stream = adapter.build_stream(settings)
    learner = adapter.build_learner(case.learner, case.settings, stream)
    for task in stream.take(adapter.N_TASKS):
        adapter.train(learner, task, case.batch_size, case.n_batches)
    return learner, stream, state_digest(learner.state())


def _umath() -> Any:
    from numpy._core import _multiarray_umath

    return _multiarray_umath


def _cpu_features() -> dict[str, bool]:
    features: dict[str, bool] = _umath().__cpu_features__
    return features


def _plain(value: Any) -> Any:
    """As JSON gives it back, with words for what is not a number."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _print_values(names: Iterable[str]) -> None:
    """Compute here; a case that fails gives its traceback as "error"."""
    import torch

    # Their blocking depends on the sizes of caches; what is used instead is exact with MKL_CBWR.
    torch.backends.mkldnn.enabled = False
    torch.backends.nnpack.set_flags(False)
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", Notice)  # compiled kernels may be missing
    found, known = {}, cases()
    for name in names:
        try:
            found[name] = _plain(known[name]())
        except Exception:
            found[name] = {"error": traceback.format_exc()}
    sys.stdout.write(json.dumps(found, allow_nan=False))


def _text_of(values: Mapping[str, Any]) -> str:
    """JSON with one line per field, so that a difference names its case."""
    lines = []
    for name, fields in values.items():
        inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in fields.items())
        lines.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _write(patterns: list[str], field: str | None) -> None:
    old = json.loads(VALUES.read_text("utf-8")) if VALUES.exists() else {}
    known = list(cases())
    wanted = [name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    new = compute(wanted)
    if failed := [name for name in new if "error" in new[name]]:
        raise SystemExit(f"{new[failed[0]]['error']}\n{len(failed)} failed: {', '.join(failed)}")
    if field is not None:
        new = {name: {**old[name], field: each[field]} for name, each in new.items() if field in each}
    absent = [] if adapter.has_real_data() else [f"streams/{name}" for name in adapter.REAL_STREAMS]
    kept = {name: {**old, **new}[name] for name in [*known, *absent] if name in {**old, **new}}
    about = {"versions": versions(), "purposes": {"all": purposes()}}
    VALUES.write_text(_text_of({**about, **kept}), "utf-8")
    changed = [name for name in new if new[name] != old.get(name)]
    print(f"{len(wanted)} cases computed, {len(changed)} changed: {', '.join(changed)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the golden values again.")
    parser.add_argument("cases", nargs="*", help="names of cases; * matches anything (default: all)")
    parser.add_argument("--field", help="write only this field of the cases")
    parser.add_argument("--values", action="store_true", help="compute here and print, in the order given")
    given = parser.parse_args()
    if given.values:
        _print_values(given.cases)
    else:
        _write(given.cases or ["*"], given.field)


if __name__ == "__main__":
    main()
