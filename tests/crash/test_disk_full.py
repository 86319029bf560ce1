"""A full disk stops a run with an error; the run continues when there is space."""

import random
from pathlib import Path

import pytest

from .harness import SEED, Server, tiny

SAVES = {"save_every": 3}
FULL = "the disk is full"


def error_and_digest(server: Server, folder: Path, name: str, at: int) -> tuple[str, str]:
    """The error of a run whose disk is full from an operation on, and its digest when resumed."""
    full = server.run(folder, tiny(name), full_at=at, **SAVES)
    # The last operations of a run may need no space.
    return full.get("error", FULL), server.run(folder, tiny(name), **SAVES)["digest"]


@pytest.mark.more
def test_full_at_some_operations(server: Server, tmp_path: Path) -> None:
    rng, expected = random.Random(SEED), server.reference(tmp_path, tiny("er"), **SAVES)
    for at in (1, 2, 3, *(rng.randint(4, expected["n_operations"] - 10) for _ in range(8))):
        error, digest = error_and_digest(server, tmp_path / str(at), "er", at)
        assert FULL in error
        assert digest == expected["digest"], at


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nearest", "er"])
def test_full_at_every_operation(server: Server, tmp_path: Path, name: str) -> None:
    expected = server.reference(tmp_path, tiny(name), **SAVES)
    for at in range(1, expected["n_operations"] + 1):
        error, digest = error_and_digest(server, tmp_path / str(at), name, at)
        assert FULL in error
        assert digest == expected["digest"], at
