"""A disk that is full stops a run with a sentence, and the run goes on when there is room again."""

import random
from pathlib import Path

import pytest

from .harness import SEED, Server, tiny

SAVES = {"save_every": 3}


def fill_and_go_on(server: Server, folder: Path, name: str, at: int) -> None:
    spec = tiny(name)
    full = server.run(folder, spec, full_at=at, **SAVES)
    # The very last acts may be such that need no room.
    assert "the disk is full" in full.get("refused", "the disk is full")
    assert (
        server.run(folder, spec, **SAVES)["digest"]
        == server.reference(folder.parent, spec, **SAVES)["digest"]
    )


def test_full_at_some_acts(server: Server, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    acts = server.reference(tmp_path, tiny("er"), **SAVES)["n_acts"]
    for at in (1, 2, 3, *(chance.randint(4, acts - 10) for _ in range(8))):
        fill_and_go_on(server, tmp_path / str(at), "er", at)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nearest", "er"])
def test_full_at_every_act(server: Server, tmp_path: Path, name: str) -> None:
    for at in range(1, server.reference(tmp_path, tiny(name), **SAVES)["n_acts"] + 1):
        fill_and_go_on(server, tmp_path / str(at), name, at)
