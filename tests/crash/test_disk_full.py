"""A disk that is full stops a run with a sentence, and the run goes on when there is room again."""

import random
from pathlib import Path

import pytest

from .harness import SEED, Server, tiny

SAVES = {"save_every": 3}
FULL = "the disk is full"


def filled_and_gone_on(server: Server, folder: Path, name: str, at: int) -> tuple[str, str]:
    """What was said when the disk was full from an act on, and the digest once there was room again."""
    full = server.run(folder, tiny(name), full_at=at, **SAVES)
    # The very last acts may be such that need no room.
    return full.get("refused", FULL), server.run(folder, tiny(name), **SAVES)["digest"]


def test_full_at_some_acts(server: Server, tmp_path: Path) -> None:
    chance, calm = random.Random(SEED), server.reference(tmp_path, tiny("er"), **SAVES)
    for at in (1, 2, 3, *(chance.randint(4, calm["n_acts"] - 10) for _ in range(8))):
        said, digest = filled_and_gone_on(server, tmp_path / str(at), "er", at)
        assert FULL in said
        assert digest == calm["digest"], at


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nearest", "er"])
def test_full_at_every_act(server: Server, tmp_path: Path, name: str) -> None:
    calm = server.reference(tmp_path, tiny(name), **SAVES)
    for at in range(1, calm["n_acts"] + 1):
        said, digest = filled_and_gone_on(server, tmp_path / str(at), name, at)
        assert FULL in said
        assert digest == calm["digest"], at
