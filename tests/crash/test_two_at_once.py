"""Two processes cannot play the same record."""

from pathlib import Path

import pytest

from .harness import Server, tiny


def start_two(server: Server, folder: Path, other: Path) -> list[dict[str, object]]:
    spec = tiny("nearest", n_tasks=4)
    answers = (folder, other)
    pids = [server.start(folder, spec, answer=str(each.with_suffix(".answer"))) for each in answers]
    return [server.wait(each, pid) for each, pid in zip(answers, pids, strict=True)]


@pytest.mark.parametrize("times", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_two_start_at_once(server: Server, tmp_path: Path, times: int) -> None:
    """One is refused, or finds the run of the other finished; whoever plays, plays all of it."""
    calm = server.reference(tmp_path, tiny("nearest", n_tasks=4))["digest"]
    for i in range(times):
        ends = start_two(server, tmp_path / str(i), tmp_path / f"{i}-other")
        refusals = [str(end["refused"]) for end in ends if "refused" in end]
        assert [end["digest"] for end in ends if "digest" in end] == [calm] * (2 - len(refusals))
        assert len(refusals) <= 1
        assert all("is being played by" in said or "already holds a record" in said for said in refusals)


def test_a_killed_run_leaves_no_lock(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("nearest", n_tasks=4), tmp_path / "run"
    calm = server.reference(tmp_path, spec)
    for _ in range(5):
        pid = server.start(folder, spec)
        server.kill(pid, calm["seconds"] / 3)
        server.wait(folder, pid)
    assert server.run(folder, spec)["digest"] == calm["digest"]
