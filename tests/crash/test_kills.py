"""Whatever kills a run, resuming it gives the very same result."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everlearn import learners

from .harness import SEED, Server, tiny

NAMES = learners.names()
SAVES = {"save_every": 3}


def crash_points(calm: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Before every act, in the middle of every write, and after the last act.

    After any other act is before the next: nothing on the disk changes in between.
    """
    yield from ((at, "before") for at in range(1, calm["acts"] + 1))
    yield from ((at, "torn") for at in calm["writes"])
    yield calm["acts"], "after"


def crash_and_resume(server: Server, folder: Path, name: str, at: int, mode: str) -> None:
    spec = tiny(name)
    first = server.run(folder, spec, crash_at=at, mode=mode, **SAVES)
    assert first["code"] == 77
    assert (
        server.run(folder, spec, **SAVES)["digest"]
        == server.reference(folder.parent, spec, **SAVES)["digest"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_some_crash_points(server: Server, tmp_path: Path, name: str) -> None:
    chance = random.Random(f"{SEED} {name}")
    points = list(crash_points(server.reference(tmp_path, tiny(name), **SAVES)))
    for i, (at, mode) in enumerate(chance.sample(points, 5)):
        crash_and_resume(server, tmp_path / str(i), name, at, mode)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_crash_point(server: Server, tmp_path: Path, name: str) -> None:
    for at, mode in crash_points(server.reference(tmp_path, tiny(name), **SAVES)):
        crash_and_resume(server, tmp_path / f"{at}{mode}", name, at, mode)


def kill_at_random(server: Server, folder: Path, name: str, chance: random.Random, n_kills: int) -> None:
    spec = tiny(name, n_tasks=3, **{"evaluation.inside_every": 1})
    calm = server.reference(folder.parent, spec)
    for _ in range(n_kills):
        pid = server.start(folder, spec)
        server.kill(pid, chance.uniform(0.0, calm["seconds"]))
        server.wait(folder, pid)
    assert server.run(folder, spec)["digest"] == calm["digest"]


@pytest.mark.parametrize("name", NAMES)
def test_some_kills(server: Server, tmp_path: Path, name: str) -> None:
    chance = random.Random(f"{SEED} {name}")
    for i in range(3):
        kill_at_random(server, tmp_path / str(i), name, chance, n_kills=1 + i)


def test_five_kills_in_one_run(server: Server, tmp_path: Path) -> None:
    kill_at_random(server, tmp_path / "run", "er", random.Random(SEED), n_kills=5)


@pytest.mark.slow
def test_two_hundred_kills(server: Server, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    for i in range(200):
        kill_at_random(server, tmp_path / str(i), NAMES[i % len(NAMES)], chance, n_kills=chance.randint(1, 3))


def test_a_crash_while_resuming_from_a_crash(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    calm = server.reference(tmp_path, spec, **SAVES)
    server.run(folder, spec, crash_at=calm["acts"] * 2 // 3, mode="after", **SAVES)
    for at in range(1, 12):
        again = server.run(folder, spec, crash_at=at, mode="before", **SAVES)
        assert again["code"] == 77
    assert server.run(folder, spec, **SAVES)["digest"] == calm["digest"]


def test_a_jumping_clock_changes_nothing(server: Server, tmp_path: Path) -> None:
    spec = tiny("er")
    calm = server.reference(tmp_path, spec)
    assert server.run(tmp_path / "run", spec, clock_jumps=True)["digest"] == calm["digest"]
