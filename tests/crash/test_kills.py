"""A killed run has the same result when it is resumed."""

import math
import random
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from everlearn import learners
from everlearn.runs import RunSpec

from .harness import FEW, SEED, Server, tiny

NAMES = learners.names()
N_KILLED = 200
"""Runs that are killed up to three times, over all learners."""
EVERY_BATCH = {"evaluation.every_n_batches": 1}


def longer(name: str) -> RunSpec:
    return tiny(name, n_tasks=3, **EVERY_BATCH)


def digest_after_kills(
    server: Server, folder: Path, name: str, rng: random.Random, n_kills: int, **job: Any
) -> str:
    """Digest of a run that was killed at random times."""
    spec = longer(name)
    seconds = server.reference(folder.parent, spec)["seconds"]
    for _ in range(n_kills):
        pid = server.start(folder, spec, **job)
        server.kill(pid, rng.uniform(0.0, seconds))
        server.wait(folder, pid)
    return str(server.run(folder, spec, **job)["digest"])


@pytest.mark.parametrize(
    "name", [*FEW[:2], *(pytest.param(name, marks=pytest.mark.more) for name in FEW[2:])]
)
def test_three_kills(server: Server, tmp_path: Path, name: str) -> None:
    digest = digest_after_kills(server, tmp_path / "run", name, random.Random(f"{SEED} {name}"), n_kills=3)
    assert digest == server.reference(tmp_path, longer(name))["digest"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_hundred_kills(server: Server, tmp_path: Path, name: str) -> None:
    rng, expected = random.Random(f"{SEED} {name}"), server.reference(tmp_path, longer(name))
    for i in range(math.ceil(N_KILLED / len(NAMES))):
        digest = digest_after_kills(server, tmp_path / str(i), name, rng, n_kills=rng.randint(1, 3))
        assert digest == expected["digest"], i


@pytest.mark.parametrize("kind", ["task-started", "train-step", "scored"])
def test_two_kills_in_the_same_task(server: Server, tmp_path: Path, kind: str) -> None:
    spec, folder = tiny("er", **EVERY_BATCH), tmp_path / "run"
    for _ in range(2):
        assert server.run(folder, spec, die_at=[kind, 1])["code"] == -signal.SIGKILL
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


def test_no_files_in_the_folder_for_temporary_files(server: Server, tmp_path: Path) -> None:
    """Temporary files are beside their targets, because a rename across devices is not atomic."""
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as other:
        digest = digest_after_kills(server, tmp_path / "run", "er", rng, n_kills=5, temp=other)
        assert digest == server.reference(tmp_path, longer("er"))["digest"]
        assert not list(Path(other).iterdir())
