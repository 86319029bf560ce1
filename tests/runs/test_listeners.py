from collections.abc import Iterator
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, record, to_tensorboard, to_wandb
from everlearn.runs.events import Event

from .conftest import tiny


def test_listening_changes_nothing_and_writes_curves(tmp_path: Path, digest: str) -> None:
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", exc_type=ImportError
    )
    *_, _last = to_tensorboard(record(tiny(), tmp_path / "run"), tmp_path / "board")
    assert Record(tmp_path / "run").digest == digest
    board = accumulator.EventAccumulator(str(tmp_path / "board")).Reload()
    assert {"accuracy", "learn/distance", "memory_bytes"} <= set(board.Tags()["scalars"])
    told = [row["correct"] for row in Record(tmp_path / "run").scores()]
    assert len(board.Scalars("accuracy")) == len(told)


def test_weights_and_biases_listen(tmp_path: Path, digest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    *_, _last = to_wandb(record(tiny(), tmp_path / "run"), mode="disabled")
    assert Record(tmp_path / "run").digest == digest


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
