"""Whatever kills a run, resuming it gives the very same result."""

import math
import random
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from everlearn import learners

from .harness import SEED, Server, tiny

NAMES = learners.names()
ALL_KILLED = 200
"""Runs that are killed up to three times, over all learners."""
INSIDE = {"evaluation.inside_every": 1}


def kill_at_random(
    server: Server, folder: Path, name: str, chance: random.Random, n_kills: int, **job: Any
) -> None:
    spec = tiny(name, n_tasks=3, **INSIDE)
    calm = server.reference(folder.parent, spec)
    for _ in range(n_kills):
        pid = server.start(folder, spec, **job)
        server.kill(pid, chance.uniform(0.0, calm["seconds"]))
        server.wait(folder, pid)
    assert server.run(folder, spec, **job)["digest"] == calm["digest"]


@pytest.mark.parametrize("name", NAMES)
def test_some_kills(server: Server, tmp_path: Path, name: str) -> None:
    chance = random.Random(f"{SEED} {name}")
    kill_at_random(server, tmp_path / "run", name, chance, n_kills=3)


def test_five_kills_in_one_run(server: Server, tmp_path: Path) -> None:
    kill_at_random(server, tmp_path / "run", "er", random.Random(SEED), n_kills=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_hundred_kills(server: Server, tmp_path: Path, name: str) -> None:
    chance = random.Random(f"{SEED} {name}")
    for i in range(math.ceil(ALL_KILLED / len(NAMES))):
        kill_at_random(server, tmp_path / str(i), name, chance, n_kills=chance.randint(1, 3))


@pytest.mark.parametrize("kind", ["task-started", "learned", "scored"])
def test_twice_in_the_same_task(server: Server, tmp_path: Path, kind: str) -> None:
    spec, folder = tiny("er", **INSIDE), tmp_path / "run"
    for _ in range(2):
        assert server.run(folder, spec, die_at=[kind, 1])["code"] == -signal.SIGKILL
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


def test_the_folder_for_temporary_files_does_not_matter(server: Server, tmp_path: Path) -> None:
    """What is not whole yet lies beside its target, or a rename could cross devices and be torn."""
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as elsewhere:
        kill_at_random(server, tmp_path / "run", "er", chance, n_kills=5, temp=elsewhere)
        assert not list(Path(elsewhere).iterdir())
