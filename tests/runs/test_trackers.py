import re
import sys
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, record, to_tensorboard, to_wandb
from everlearn.runs.events import Scored

from .conftest import finish, tiny


def test_tensorboard_logs_scalars_and_does_not_change_the_run(tmp_path: Path, digest: str) -> None:
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", exc_type=ImportError
    )
    finish(to_tensorboard(record(tiny(), tmp_path / "run"), tmp_path / "board"))
    assert Record(tmp_path / "run").digest == digest
    board = accumulator.EventAccumulator(str(tmp_path / "board")).Reload()
    assert {"accuracy", "train/distance", "memory_bytes"} <= set(board.Tags()["scalars"])
    expected = [
        sum(row["n_correct"]) / sum(row["n_images"]) for row in Record(tmp_path / "run").evaluations()
    ]
    assert [point.value for point in board.Scalars("accuracy")] == pytest.approx(expected)


def test_wandb_logs_scalars_and_does_not_change_the_run(
    tmp_path: Path, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real package, offline; its log is read back."""
    wandb = pytest.importorskip("wandb", exc_type=ImportError)
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    events = to_wandb(record(tiny(), tmp_path / "run"), mode="offline")
    expected = [event.accuracy for event in events if isinstance(event, Scored)]
    wandb.teardown()
    assert Record(tmp_path / "run").digest == digest
    (log,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    content = log.read_bytes()
    # A name, the tag of protobuf field 16 with a length, then the number in JSON.
    values = list(map(float, re.findall(rb"accuracy\x82\x01.([0-9.e-]+)", content, re.DOTALL)))
    assert values == [value for value in expected for _ in ("history", "summary")]
    assert {b"train/distance", b"memory_bytes"} <= set(re.findall(rb"[a-z_/]{10,}", content))


@pytest.mark.parametrize("package", ["tensorboard", "wandb"])
def test_missing_package_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    track = {"tensorboard": lambda: to_tensorboard(iter(()), tmp_path), "wandb": lambda: to_wandb(iter(()))}
    with pytest.raises(BadInput, match=rf"needs {package}, .*pip install 'everlearn\[{package}\]'"):
        track[package]()
