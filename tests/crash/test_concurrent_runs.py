"""Two processes cannot write to one record."""

from pathlib import Path

import pytest

from .harness import Server, tiny


def start_two(server: Server, folder: Path, other: Path) -> list[dict[str, object]]:
    spec, results = tiny("nearest", n_tasks=4), (folder, other)
    pids = [server.start(folder, spec, result=str(each.with_suffix(".result"))) for each in results]
    return [server.wait(each, pid) for each, pid in zip(results, pids, strict=True)]


@pytest.mark.parametrize("n_repeats", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_two_start_at_once(server: Server, tmp_path: Path, n_repeats: int) -> None:
    """One process gets an error, or finds the run finished; the other runs to the end."""
    digest = server.reference(tmp_path, tiny("nearest", n_tasks=4))["digest"]
    for i in range(n_repeats):
        ends = start_two(server, tmp_path / str(i), tmp_path / f"{i}-other")
        errors = [str(end["error"]) for end in ends if "error" in end]
        assert [end["digest"] for end in ends if "digest" in end] == [digest] * (2 - len(errors))
        assert len(errors) <= 1
        assert all("is in use by" in error or "already has a record" in error for error in errors), errors


def test_killed_run_leaves_no_lock(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("nearest", n_tasks=4), tmp_path / "run"
    expected = server.reference(tmp_path, spec)
    for _ in range(5):
        pid = server.start(folder, spec)
        server.kill(pid, expected["seconds"] / 3)
        server.wait(folder, pid)
    assert server.run(folder, spec)["digest"] == expected["digest"]
