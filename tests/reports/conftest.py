"""Small recorded runs: two seeds of replay, one each of others, an unfinished one, evaluated ones."""

import contextlib
import io
import json
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from everlearn.cli import main
from everlearn.runs import Record, RunSpec, record

SETTINGS: dict[str, Any] = {
    "stream.image_size": 16,
    "stream.classes_per_task": 3,
    "stream.factor_values": 2,
    "stream.split": [8, 2, 6],
    "n_tasks": 3,
    "batch_size": 8,
    "evaluation.n_images": 60,
}
WITHIN_TASKS = {"evaluation.every_n_batches": 1}
ENVIRONMENTS: dict[str, Any] = {
    "stream.sequence": ["moving-sprites", "inverted-sprites"],
    "stream.image_size": 16,
    "stream.n_shapes": 2,
    "stream.images_per_shape": 400,
    "stream.images_per_stage": 640,
    "batch_size": 32,
    "learner.size": "tiny",
    "learner.n_latents": 5,
    "learner.cooldown": 0,
    "learner.patience": 1,
}
LATENT_PROTOCOLS = {
    "environments": ["--n-images", "40"],
    "traversal": [],
    "cross-domain": ["--n-images", "40"],
    "ambiguity": ["--n-images", "64", "--between", "inverted-sprites,moving-sprites"],
    "disentanglement": ["--n-images", "60"],
}
HELD_OUT = {"stream.factor_values": 3, "stream.held_out": 10, "learner.width": 4}


def recorded(folder: Path, learner: str, *, name: str | None = None, **settings: Any) -> Record:
    """A finished run."""
    for _ in record(RunSpec.make(learner=learner, settings={**SETTINGS, **settings}), folder, name=name):
        pass
    return Record(folder)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    root = tmp_path_factory.mktemp("runs")
    small = {"learner.memory_size": 4}
    return {
        "er-0": recorded(root / "er-0", "er", **WITHIN_TASKS),
        "er-1": recorded(root / "er-1", "er", **WITHIN_TASKS, seed=1),
        "er-small": recorded(root / "er-small", "er", **WITHIN_TASKS, **small),
        "naive": recorded(root / "naive", "naive"),
        "nearest": recorded(root / "nearest <b>&", "nearest"),
        "dcl": recorded(root / "dcl", "dcl"),
    }


@pytest.fixture(scope="session")
def evaluated(runs: dict[str, Record], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """Runs with the results of protocols that need no latents."""
    root = tmp_path_factory.mktemp("evaluated")
    again = recorded(root / "dcl-1", "dcl", **HELD_OUT, seed=1)
    found = {"dcl-0": recorded(root / "dcl-0", "dcl", **HELD_OUT), "dcl-1": again}
    found["naive"] = Record(shutil.copytree(runs["naive"].folder, root / "naive"))
    with contextlib.redirect_stdout(io.StringIO()):
        for name in ("dcl-0", "dcl-1"):
            for words in (
                ["open-set", "--n-images", "40"],
                ["open-world", "--n-new", "3", "--n-per-class", "3"],
                ["one-shot", "--n-new", "2,5", "--n-images", "20"],
                ["held-out-factors", "--n-images", "30"],
                ["multiple-choice", "--n-choices", "2,3", "--n-trials", "5"],
            ):
                assert main(["evaluate", words[0], str(root / name), *words[1:]]) == 0
        assert main(["evaluate", "online-offline", str(root / "naive"), "--epochs", "2"]) == 0
    return found


@pytest.fixture
def unfinished(tmp_path: Path) -> Iterator[Record]:
    """A run that is still in its second task."""
    folder = tmp_path / "unfinished"
    events = record(RunSpec.make(learner="nearest", settings=SETTINGS), folder)
    list(takewhile(lambda event: event.kind != "task-started" or event.to_json()["task"] == 0, events))
    yield Record(folder)
    events.close()  # type: ignore[attr-defined]  # it is a generator, and holds the record's lock


def save_results(record: Record, protocol: str, values: dict[str, Any]) -> None:
    """Store results of a protocol in a record."""
    folder = record.folder / "protocols"
    folder.mkdir(exist_ok=True)
    (folder / f"{protocol}.json").write_text(json.dumps({**values, "digest": record.digest}))


@pytest.fixture(scope="session")
def vase(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A run with the results of protocols that need latents."""
    folder = tmp_path_factory.mktemp("vase") / "vase"
    *_, _last = record(RunSpec.make(stream="environments", learner="vase", settings=ENVIRONMENTS), folder)
    evaluate_latents(folder)
    return Record(folder)


def evaluate_latents(folder: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        for protocol, words in LATENT_PROTOCOLS.items():
            assert main(["evaluate", protocol, str(folder), *words]) == 0
