"""A death before, in the middle of or after any act on the disk costs nothing but time."""

import random
import shutil
from pathlib import Path

import pytest

from everlearn import learners

from .disks import checksum
from .harness import SEED, Server, tiny

NAMES = learners.names()
SAVES = {"save_every": 3, "ticks": True}

Moment = tuple[int, str, str]
"""The number of an act, how far it got, and the checksum of what is on the disk then."""


def moments(server: Server, tmp_path: Path, name: str) -> list[Moment]:
    """Every moment of a run at which it could die; what it would leave is in `tmp_path / "kept"`."""
    (tmp_path / "kept").mkdir()
    calm = server.run(tmp_path / "kept-run", tiny(name), keep=str(tmp_path / "kept"), **SAVES)
    assert calm["digest"] == digest(server, tmp_path, name)
    assert len(calm["moments"]) == 2 * calm["n_acts"] + len(calm["writes"])
    return [(at, mode, state) for at, mode, state in calm["moments"]]


def digest(server: Server, tmp_path: Path, name: str) -> str:
    return str(server.reference(tmp_path, tiny(name), **SAVES)["digest"])


def gone_on(server: Server, folder: Path, name: str) -> str:
    """The digest of a run that goes on with what is left of it."""
    ended = server.run(folder, tiny(name), **SAVES)
    shutil.rmtree(folder)
    return str(ended["digest"])


@pytest.mark.parametrize("name", NAMES)
def test_some_crash_points(server: Server, tmp_path: Path, name: str) -> None:
    """Processes that really die, and leave what was foretold."""
    chance = random.Random(f"{SEED} {name}")
    for at, mode, state in chance.sample(moments(server, tmp_path, name), 3):
        folder = tmp_path / f"{at}-{mode}"
        died = server.run(folder, tiny(name), crash_at=at, mode=mode, **SAVES)
        assert died["code"] == 77
        assert checksum(folder) == state, (at, mode)
        assert gone_on(server, folder, name) == digest(server, tmp_path, name), (at, mode)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_crash_point(server: Server, tmp_path: Path, name: str) -> None:
    for state in dict.fromkeys(state for _, _, state in moments(server, tmp_path, name)):
        assert gone_on(server, tmp_path / "kept" / state, name) == digest(server, tmp_path, name), state


@pytest.mark.slow
def test_every_death_of_one_run_is_as_foretold(server: Server, tmp_path: Path) -> None:
    """The proof that states stand for deaths, over all of one run; for other learners a draw is made."""
    for at, mode, state in moments(server, tmp_path, "nearest"):
        folder = tmp_path / f"{at}-{mode}"
        assert server.run(folder, tiny("nearest"), crash_at=at, mode=mode, **SAVES)["code"] == 77
        assert checksum(folder) == state, (at, mode)


def test_a_crash_while_resuming_from_a_crash(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    acts = server.reference(tmp_path, spec, **SAVES)["n_acts"]
    server.run(folder, spec, crash_at=acts * 2 // 3, mode="after", **SAVES)
    for at in range(1, 12):
        again = server.run(folder, spec, crash_at=at, mode="before", **SAVES)
        assert again["code"] == 77
    assert gone_on(server, folder, "er") == digest(server, tmp_path, "er")
