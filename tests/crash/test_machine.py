"""Another number of threads, a clock that jumps, no memory left: the machine itself is the trouble."""

import signal
from pathlib import Path

from everlearn.runs import Record

from .harness import Server, tiny


def test_a_jumping_clock_changes_nothing(server: Server, tmp_path: Path) -> None:
    spec = tiny("er")
    calm = server.reference(tmp_path, spec)
    assert server.run(tmp_path / "run", spec, clock_jumps=True)["digest"] == calm["digest"]
    seconds = list(Record(tmp_path / "run").seconds())
    assert [row["task"] for row in seconds] == [0, 1]
    assert all(0 <= row["seconds"] < 600 for row in seconds)


def test_another_number_of_threads_is_allowed_warned_and_stamped(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    assert server.run(folder, spec, die_at=["learned", 1])["code"] == -signal.SIGKILL
    assert Record(folder).is_exact
    ended = server.run(folder, spec, threads=2)
    assert ended["warnings"] == ["not exact any more: threads was 1, is 2"]
    assert not ended["exact"]


def test_a_run_without_memory_says_so_and_can_go_on(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("naive", batch_size=64, **{"stream.image_size": 128}), tmp_path / "run"
    ended = server.run(folder, spec, memory_ends_at=["task-started", 1])
    assert ended["refused"].startswith("memory ran out")
    assert f"everlearn resume {folder}" in ended["refused"]
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]
