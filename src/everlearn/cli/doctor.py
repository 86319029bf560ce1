"""`everlearn doctor`: what this machine can do."""

import importlib.metadata
import os
import platform
import shutil
import time
from pathlib import Path
from typing import Any

from everlearn import __version__
from everlearn.cli.output import Answer

PACKAGES = ("torch", "numpy", "numba", "pydantic", "safetensors", "matplotlib")
EXTRAS = {
    "pyarrow": "export to parquet",
    "avalanche-lib": "Avalanche benchmarks",
    "tensorboard": "TensorBoard curves",
    "wandb": "Weights & Biases",
}
PACE_SECONDS = 0.5


def doctor() -> Answer:
    """Say what this machine can do: versions, devices, room, data, and how fast it draws and learns."""
    facts = {
        "everlearn": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
        "extras": {name: _version(name) for name in EXTRAS},
        **_torch(),
        "free_disk_bytes": shutil.disk_usage(Path.cwd()).free,
        "data": _data(),
        **_paces(),
    }
    return Answer(facts, lambda: _view(facts))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch() -> dict[str, Any]:
    import torch

    found = [kind for kind in ("cuda", "mps") if torch.get_device_module(kind).is_available()]
    return {"devices": ["cpu", *found], "threads": torch.get_num_threads()}


def _data() -> dict[str, bool]:
    """Which streams of real images can be built from what lies here."""
    from everlearn import streams
    from everlearn.errors import BadInput

    found = {}
    for kind in ("mnist", "fashion", "omniglot"):
        try:
            streams.build({"stream": kind})
        except (BadInput, OSError):
            found[kind] = False
        else:
            found[kind] = True
    return found


def _paces() -> dict[str, int]:
    """Images drawn, and images learned from, in a second."""
    from everlearn import learners, streams

    stream = streams.sprites()
    batch = stream.task(0).train[:64]
    learner = learners.build("naive", image_shape=stream.image_shape, seed=0)
    learner.learn(batch)

    def draw(k: int) -> int:
        return len(stream.task(1 + k).train)

    def learn(_: int) -> int:
        learner.learn(batch)
        return len(batch)

    return {"drawn_per_second": _pace(draw), "learned_per_second": _pace(learn)}


def _pace(act: Any) -> int:
    start, n, k = time.perf_counter(), 0, 0
    while time.perf_counter() - start < PACE_SECONDS:
        n, k = n + act(k), k + 1
    return round(n / (time.perf_counter() - start))


def _view(facts: dict[str, Any]) -> Any:
    from everlearn.cli.output import table

    versions = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    extras = [f"{name} {facts['extras'][name] or 'missing'} ({use})" for name, use in EXTRAS.items()]
    data = [f"{kind} {'there' if there else 'missing'}" for kind, there in facts["data"].items()]
    rows = [
        ("everlearn", f"{facts['everlearn']} on Python {facts['python']}, {facts['system']}"),
        ("packages", versions),
        ("extras", "\n".join(extras)),
        (
            "computes on",
            f"{', '.join(facts['devices'])}; {facts['processors']} processors, {facts['threads']} threads",
        ),
        ("real images", f"{', '.join(data)} (in $EVERLEARN_DATA)"),
        ("free disk", f"{facts['free_disk_bytes'] / 1e9:.1f} GB"),
        ("draws", f"{facts['drawn_per_second']:,} images a second"),
        ("learns from", f"{facts['learned_per_second']:,} images a second (naive, 64 px)"),
    ]
    return table(("", ""), rows)
