import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, record, to_tensorboard, to_wandb
from everlearn.runs.events import Event, Scored

from .conftest import tiny


def test_listening_changes_nothing_and_writes_curves(tmp_path: Path, digest: str) -> None:
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", exc_type=ImportError
    )
    *_, _last = to_tensorboard(record(tiny(), tmp_path / "run"), tmp_path / "board")
    assert Record(tmp_path / "run").digest == digest
    board = accumulator.EventAccumulator(str(tmp_path / "board")).Reload()
    assert {"accuracy", "learn/distance", "memory_bytes"} <= set(board.Tags()["scalars"])
    told = [sum(row["correct"]) / sum(row["total"]) for row in Record(tmp_path / "run").scores()]
    assert [point.value for point in board.Scalars("accuracy")] == pytest.approx(told)


def test_weights_and_biases_listen(tmp_path: Path, digest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real package, offline; what it wrote is read back."""
    wandb = pytest.importorskip("wandb", exc_type=ImportError)
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    story = to_wandb(record(tiny(), tmp_path / "run"), mode="offline")
    told = [event.accuracy for event in story if isinstance(event, Scored)]
    wandb.teardown()
    assert Record(tmp_path / "run").digest == digest
    (log,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    written = log.read_bytes()
    # A name, the tag of protobuf field 16 with a length, then the number in JSON.
    values = list(map(float, re.findall(rb"accuracy\x82\x01.([0-9.e-]+)", written, re.DOTALL)))
    assert values == [value for value in told for _ in ("history", "summary")]
    assert {b"learn/distance", b"memory_bytes"} <= set(re.findall(rb"[a-z_/]{10,}", written))


@pytest.mark.parametrize(
    ("listen", "missing"), [("tensorboard", "torch.utils.tensorboard"), ("wandb", "wandb")]
)
def test_without_the_package_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listen: str, missing: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    story: Iterator[Event] = iter(())
    with pytest.raises(BadInput, match=f"install the package {listen}"):
        to_tensorboard(story, tmp_path) if listen == "tensorboard" else to_wandb(story)
