"""Whatever kills a run, resuming it gives the very same result."""

import math
import random
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from everlearn import learners
from everlearn.runs import RunSpec

from .harness import SEED, Server, tiny

NAMES = learners.names()
ALL_KILLED = 200
"""Runs that are killed up to three times, over all learners."""
INSIDE = {"evaluation.inside_every": 1}


def longer(name: str) -> RunSpec:
    return tiny(name, n_tasks=3, **INSIDE)


def killed_at_random(
    server: Server, folder: Path, name: str, chance: random.Random, n_kills: int, **job: Any
) -> str:
    """The digest of a run that was killed so often, at any moment, and ended in the end."""
    spec = longer(name)
    seconds = server.reference(folder.parent, spec)["seconds"]
    for _ in range(n_kills):
        pid = server.start(folder, spec, **job)
        server.kill(pid, chance.uniform(0.0, seconds))
        server.wait(folder, pid)
    return str(server.run(folder, spec, **job)["digest"])


@pytest.mark.parametrize("name", NAMES)
def test_some_kills(server: Server, tmp_path: Path, name: str) -> None:
    digest = killed_at_random(server, tmp_path / "run", name, random.Random(f"{SEED} {name}"), n_kills=3)
    assert digest == server.reference(tmp_path, longer(name))["digest"]


def test_five_kills_in_one_run(server: Server, tmp_path: Path) -> None:
    digest = killed_at_random(server, tmp_path / "run", "er", random.Random(SEED), n_kills=5)
    assert digest == server.reference(tmp_path, longer("er"))["digest"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_hundred_kills(server: Server, tmp_path: Path, name: str) -> None:
    chance, calm = random.Random(f"{SEED} {name}"), server.reference(tmp_path, longer(name))
    for i in range(math.ceil(ALL_KILLED / len(NAMES))):
        digest = killed_at_random(server, tmp_path / str(i), name, chance, n_kills=chance.randint(1, 3))
        assert digest == calm["digest"], i


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
        digest = killed_at_random(server, tmp_path / "run", "er", chance, n_kills=5, temp=elsewhere)
        assert digest == server.reference(tmp_path, longer("er"))["digest"]
        assert not list(Path(elsewhere).iterdir())
