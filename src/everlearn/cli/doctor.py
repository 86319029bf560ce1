"""`everlearn doctor`: versions, devices, data and speed of this machine."""

import importlib.metadata
import os
import platform
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from everlearn import __version__, learners
from everlearn.cli.output import CommandResult, table

PACKAGES = ("torch", "numpy", "numba", "pydantic", "safetensors", "matplotlib")
OPTIONAL_PACKAGES = {
    "pyarrow": "export to parquet",
    "avalanche-lib": "Avalanche benchmarks",
    "tensorboard": "TensorBoard curves",
    "wandb": "Weights & Biases",
    "mlflow": "MLflow",
}
DATASETS = ("mnist", "fashion", "omniglot")
MEASURED_SECONDS = 0.5


def doctor() -> CommandResult:
    """Show versions, devices, disk space, data, and the speed of rendering and training."""
    data = {
        "everlearn": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
        "extras": {name: _version(name) for name in OPTIONAL_PACKAGES},
        **_torch(),
        "free_disk_bytes": shutil.disk_usage(Path.cwd()).free,
        "data": {kind: _has_data(kind) for kind in DATASETS},
        **_speeds(),
    }
    return CommandResult(data, lambda: table(("", ""), _rows(data)))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch() -> dict[str, Any]:
    import torch

    available = [kind for kind in ("cuda", "mps") if torch.get_device_module(kind).is_available()]
    return {"devices": ["cpu", *available], "threads": torch.get_num_threads()}


def _has_data(kind: str) -> bool:
    from everlearn import streams
    from everlearn.errors import BadInput

    try:
        streams.build({"stream": kind})
    except (BadInput, OSError):
        return False
    return True


def _speeds() -> dict[str, int]:
    """Images rendered, and images trained on, per second."""
    from everlearn import streams

    stream = streams.sprites()
    batch = stream.task(0).train[:64]
    learner = learners.build("naive", image_shape=stream.image_shape, seed=0)
    learner.learn(batch)  # compiles

    def train(_: int) -> int:
        learner.learn(batch)
        return len(batch)

    return {
        "rendered_per_second": _per_second(lambda k: len(stream.task(1 + k).train)),
        "trained_per_second": _per_second(train),
    }


def _per_second(work: Callable[[int], int]) -> int:
    start, n, k = time.perf_counter(), 0, 0
    while time.perf_counter() - start < MEASURED_SECONDS:
        n, k = n + work(k), k + 1
    return round(n / (time.perf_counter() - start))


def _rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    extras = [
        f"{name} {data['extras'][name] or 'missing'} ({use})" for name, use in OPTIONAL_PACKAGES.items()
    ]
    datasets = [f"{kind} {'found' if found else 'missing'}" for kind, found in data["data"].items()]
    devices = f"{', '.join(data['devices'])}; {data['processors']} processors, {data['threads']} threads"
    return [
        ("everlearn", f"{data['everlearn']} on Python {data['python']}, {data['system']}"),
        ("packages", ", ".join(f"{name} {version}" for name, version in data["packages"].items())),
        ("optional", "\n".join(extras)),
        ("devices", devices),
        ("datasets", f"{', '.join(datasets)} (in $EVERLEARN_DATA)"),
        ("free disk", f"{data['free_disk_bytes'] / 1e9:.1f} GB"),
        ("rendering", f"{data['rendered_per_second']:,} images per second"),
        ("training", f"{data['trained_per_second']:,} images per second (naive, 64 px)"),
    ]
