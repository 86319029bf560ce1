"""Another number of threads, a jumping clock, no memory left."""

import signal
from pathlib import Path

from everlearn.runs import Record

from .harness import Server, tiny


def test_jumping_clock_changes_nothing(server: Server, tmp_path: Path) -> None:
    spec = tiny("er")
    expected = server.reference(tmp_path, spec)
    assert server.run(tmp_path / "run", spec, clock_jumps=True)["digest"] == expected["digest"]
    seconds = list(Record(tmp_path / "run").seconds())
    assert [row["task"] for row in seconds] == [0, 1]
    assert all(0 <= row["seconds"] < 600 for row in seconds)


def test_another_number_of_threads_warns(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    assert server.run(folder, spec, die_at=["train-step", 1])["code"] == -signal.SIGKILL
    assert Record(folder).is_exact
    ended = server.run(folder, spec, threads=2)
    assert ended["warnings"] == ["not exact any more: threads was 1, is 2"]
    assert not ended["exact"]


def test_run_out_of_memory_can_be_resumed(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("naive", batch_size=64, **{"stream.image_size": 128}), tmp_path / "run"
    ended = server.run(folder, spec, out_of_memory_at=["task-started", 1])
    assert ended["error"].startswith("out of memory")
    assert f"everlearn resume {folder}" in ended["error"]
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]
