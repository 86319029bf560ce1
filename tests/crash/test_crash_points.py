"""A crash before, within or after any operation on the disk costs nothing but time."""

import random
import shutil
from pathlib import Path

import pytest

from everlearn import learners

from .disks import checksum
from .harness import FEW, SEED, Server, tiny

NAMES = learners.names()
SAVES = {"save_every": 3, "ticks": True}

CrashPoint = tuple[int, str, str]
"""The number of an operation, how far it got, and the checksum of the folder then."""


def crash_points(server: Server, tmp_path: Path, name: str) -> list[CrashPoint]:
    """All crash points of a run; the states are in `tmp_path / "snapshots"`."""
    (tmp_path / "snapshots").mkdir()
    ended = server.run(tmp_path / "observed", tiny(name), snapshots=str(tmp_path / "snapshots"), **SAVES)
    assert ended["digest"] == expected_digest(server, tmp_path, name)
    assert len(ended["crash_points"]) == 2 * ended["n_operations"] + len(ended["writes"])
    return [(at, mode, state) for at, mode, state in ended["crash_points"]]


def expected_digest(server: Server, tmp_path: Path, name: str) -> str:
    return str(server.reference(tmp_path, tiny(name), **SAVES)["digest"])


def resumed_digest(server: Server, folder: Path, name: str) -> str:
    ended = server.run(folder, tiny(name), **SAVES)
    shutil.rmtree(folder)
    return str(ended["digest"])


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_some_crash_points(server: Server, tmp_path: Path, name: str) -> None:
    """Processes that really crash leave the predicted state."""
    rng = random.Random(f"{SEED} {name}")
    for at, mode, state in rng.sample(crash_points(server, tmp_path, name), 3):
        folder = tmp_path / f"{at}-{mode}"
        assert server.run(folder, tiny(name), crash_at=at, mode=mode, **SAVES)["code"] == 77
        assert checksum(folder) == state, (at, mode)
        assert resumed_digest(server, folder, name) == expected_digest(server, tmp_path, name), (at, mode)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_crash_point(server: Server, tmp_path: Path, name: str) -> None:
    for state in dict.fromkeys(state for _, _, state in crash_points(server, tmp_path, name)):
        folder = tmp_path / "snapshots" / state
        assert resumed_digest(server, folder, name) == expected_digest(server, tmp_path, name), state


@pytest.mark.slow
def test_every_crash_leaves_the_predicted_state(server: Server, tmp_path: Path) -> None:
    """Proves for one run that snapshots stand for crashes; for other learners a sample does."""
    for at, mode, state in crash_points(server, tmp_path, "nearest"):
        folder = tmp_path / f"{at}-{mode}"
        assert server.run(folder, tiny("nearest"), crash_at=at, mode=mode, **SAVES)["code"] == 77
        assert checksum(folder) == state, (at, mode)


def test_crash_while_resuming_from_a_crash(server: Server, tmp_path: Path) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    n = server.reference(tmp_path, spec, **SAVES)["n_operations"]
    server.run(folder, spec, crash_at=n * 2 // 3, mode="after", **SAVES)
    for at in range(1, 12):
        assert server.run(folder, spec, crash_at=at, mode="before", **SAVES)["code"] == 77
    assert resumed_digest(server, folder, "er") == expected_digest(server, tmp_path, "er")
