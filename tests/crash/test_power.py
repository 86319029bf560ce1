"""After a power cut there is the old state or the new one, never neither."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from .harness import SEED, Server, tiny
from .power import Platter

SAVES = {"save_every": 3}


def diary_of(server: Server, tmp_path: Path) -> list[dict[str, Any]]:
    (tmp_path / "disk").mkdir()
    server.run(tmp_path / "disk" / "run", tiny("nearest"), remember=str(tmp_path / "diary"), **SAVES)
    return [json.loads(line) for line in (tmp_path / "diary").read_text().splitlines()]


def cut_and_gone_on(
    server: Server, root: Path, acts: list[dict[str, Any]], chance: random.Random | None
) -> str:
    """The digest of a run whose power was cut after some acts, when it went on with what was left."""
    platter = Platter()
    for act in acts:
        platter.replay(act)
    platter.cut_power(root, chance)
    return str(server.run(root / "run", tiny("nearest"), **SAVES)["digest"])


def test_the_platter_holds_what_the_disk_holds(server: Server, tmp_path: Path) -> None:
    platter = Platter()
    for act in diary_of(server, tmp_path):
        platter.replay(act)
    (tmp_path / "shown").mkdir()
    platter.durable, platter.durable_names = {k: bytes(v) for k, v in platter.now.items()}, platter.names
    platter.cut_power(tmp_path / "shown", None)
    real = {p.relative_to(tmp_path / "disk"): p for p in (tmp_path / "disk").rglob("*") if p.is_file()}
    for path, file in real.items():
        if path.suffix != ".answer":
            assert (tmp_path / "shown" / path).read_bytes() == file.read_bytes(), path


def test_power_is_cut_at_some_moments(server: Server, tmp_path: Path) -> None:
    acts, chance = diary_of(server, tmp_path), random.Random(SEED)
    calm = server.reference(tmp_path, tiny("nearest"), **SAVES)
    for i in range(12):
        n = chance.randrange(len(acts) + 1)
        digest = cut_and_gone_on(server, tmp_path / f"cut{i}", acts[:n], chance if i % 2 else None)
        assert digest == calm["digest"], n


@pytest.mark.slow
def test_power_is_cut_at_every_moment(server: Server, tmp_path: Path) -> None:
    acts, chance = diary_of(server, tmp_path), random.Random(SEED)
    calm = server.reference(tmp_path, tiny("nearest"), **SAVES)
    for n in range(len(acts) + 1):
        for how, toss in (("worst", None), ("mixed", chance)):
            digest = cut_and_gone_on(server, tmp_path / f"{how}{n}", acts[:n], toss)
            assert digest == calm["digest"], (how, n)
