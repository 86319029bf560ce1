"""After a power loss a run continues from its old state or its new one."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from .harness import SEED, Server, tiny
from .power_loss import SimulatedDisk

SAVES = {"save_every": 3}


def journal_of(server: Server, tmp_path: Path) -> list[dict[str, Any]]:
    (tmp_path / "disk").mkdir()
    server.run(tmp_path / "disk" / "run", tiny("nearest"), journal=str(tmp_path / "journal"), **SAVES)
    return [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]


def digest_after_loss(
    server: Server, root: Path, operations: list[dict[str, Any]], rng: random.Random | None
) -> str:
    """Digest of a run that continues after a power loss."""
    disk = SimulatedDisk()
    for operation in operations:
        disk.replay(operation)
    disk.lose_power(root, rng)
    return str(server.run(root / "run", tiny("nearest"), **SAVES)["digest"])


def test_simulated_disk_is_like_a_real_one(server: Server, tmp_path: Path) -> None:
    disk = SimulatedDisk()
    for operation in journal_of(server, tmp_path):
        disk.replay(operation)
    disk.synced, disk.synced_names = {k: bytes(v) for k, v in disk.newest.items()}, disk.names
    disk.lose_power(tmp_path / "simulated", None)
    real = {p.relative_to(tmp_path / "disk"): p for p in (tmp_path / "disk").rglob("*") if p.is_file()}
    for path, file in real.items():
        if path.suffix != ".result":
            assert (tmp_path / "simulated" / path).read_bytes() == file.read_bytes(), path


def test_power_loss_at_some_operations(server: Server, tmp_path: Path) -> None:
    operations, rng = journal_of(server, tmp_path), random.Random(SEED)
    expected = server.reference(tmp_path, tiny("nearest"), **SAVES)["digest"]
    for i in range(12):
        n = rng.randrange(len(operations) + 1)
        found = digest_after_loss(server, tmp_path / str(i), operations[:n], rng if i % 2 else None)
        assert found == expected, n


@pytest.mark.slow
def test_power_loss_at_every_operation(server: Server, tmp_path: Path) -> None:
    operations, rng = journal_of(server, tmp_path), random.Random(SEED)
    expected = server.reference(tmp_path, tiny("nearest"), **SAVES)["digest"]
    for n in range(len(operations) + 1):
        for name, source in (("synced", None), ("mixed", rng)):
            found = digest_after_loss(server, tmp_path / f"{name}{n}", operations[:n], source)
            assert found == expected, (name, n)
