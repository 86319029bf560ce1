import json
from pathlib import Path

import pytest

from everlearn.runs import run_files
from everlearn.studio import finished_tasks
from everlearn.studio.finished_tasks import FinishedTasks

from .live_server import train_step


def ended(task: int) -> bytes:
    return json.dumps({"event": "task-ended", "task": task}).encode() + b"\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_only_lines_that_were_added_are_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, n_parsed = FinishedTasks(log), 0
    assert tasks.count() == 0
    log.write_bytes(ended(2) + b"".join(map(train_step, range(3000))) + train_step(3000)[:20])
    assert tasks.count() == 3
    parse = run_files._parse

    def counted(line: bytes, where: str) -> dict[str, object]:
        nonlocal n_parsed
        n_parsed += 1
        return parse(line, where)

    monkeypatch.setattr(run_files, "_parse", counted)
    with log.open("ab") as file:
        file.write(train_step(3000)[20:] + train_step(3001))
    assert (tasks.count(), n_parsed) == (3, 2)
    with log.open("ab") as file:
        file.write(ended(3) + train_step(0) + ended(4)[:10])
    assert (tasks.count(), n_parsed) == (4, 4)
    assert (tasks.count(), n_parsed) == (4, 4)
    with log.open("ab") as file:
        file.write(ended(4)[10:])
    assert tasks.count() == 5


def test_a_log_that_was_rewritten_is_read_again(log: Path) -> None:
    tasks = FinishedTasks(log)
    log.write_bytes(ended(0) + ended(1))
    assert tasks.count() == 2
    log.write_bytes(ended(0))
    assert tasks.count() == 1
    log.write_bytes(b"".join(train_step(batch) for batch in range(100)))
    assert tasks.count() == 0
    log.unlink()
    assert tasks.count() == 0


def test_a_line_longer_than_a_block_is_waited_for(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finished_tasks, "LAST_BYTES", 8)
    tasks = FinishedTasks(log)
    log.write_bytes(ended(0) + train_step(0)[:-1])
    assert tasks.count() == 1
    with log.open("ab") as file:
        file.write(b"\n" + ended(1))
    assert tasks.count() == 2
