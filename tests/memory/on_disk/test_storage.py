"""After a crash, acknowledged edits are complete; others are complete or leave no trace."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from everlearn import files
from everlearn.memory.on_disk import OnDiskMemory
from tests.crash.disks import FullDisk, SnapshotDisk
from tests.crash.harness import SEED
from tests.crash.power_loss import JournalingDisk, SimulatedDisk

from .edits import SHAPE, STEPS, Content, content_of, expected, small_fits, traces


@pytest.fixture(autouse=True)
def _small_fits(monkeypatch: pytest.MonkeyPatch):
    with small_fits(monkeypatch):
        yield


def opened(folder: Path) -> Content | None:
    """The content of a folder; None if it is not a memory yet."""
    if not (folder / "memory.json").exists():
        return None
    with OnDiskMemory(folder) as memory:
        content = content_of(memory)
        assert len(memory) == sum(len(images) for images, _ in content.values())
    assert not traces(folder, content)
    return content


def test_crash_at_any_disk_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states, folder, kept = expected(tmp_path / "uninterrupted"), tmp_path / "memory", tmp_path / "kept"
    kept.mkdir()
    disk = SnapshotDisk(folder, kept)
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", disk)
        memory = OnDiskMemory.create(folder, image_shape=SHAPE)
        acknowledged = [disk.n_operations]
        for step in STEPS:
            step(memory)
            acknowledged.append(disk.n_operations)
        memory.close()
    moments: dict[str, set[int]] = {}
    for at, _, state in disk.crash_points:
        moments.setdefault(state, set()).add(sum(at > done for done in acknowledged))
    assert len(moments) > 50
    for state, done in moments.items():
        found = opened(kept / state)
        # The same bytes can occur before and after an edit is acknowledged.
        allowed = [states[:n][-1:] + states[n : n + 1] for n in done]
        assert all(found in each or (found is None and 0 in done) for each in allowed), (state, done)


def test_power_loss_at_any_disk_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states, root, journal = expected(tmp_path / "uninterrupted"), tmp_path / "disk", tmp_path / "journal"
    root.mkdir()
    acknowledged = []
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", JournalingDisk(journal, root))
        memory = OnDiskMemory.create(root / "memory", image_shape=SHAPE)
        for step in (lambda _: None, *STEPS):
            step(memory)
            acknowledged.append(len(journal.read_text().splitlines()))
        memory.close()
    operations, rng = [json.loads(line) for line in journal.read_text().splitlines()], random.Random(SEED)
    simulated = SimulatedDisk()
    for n, operation in enumerate(operations, 1):
        simulated.replay(operation)
        done = sum(n >= each for each in acknowledged)
        for source in (None, rng):
            simulated.lose_power(tmp_path / "cut", source)
            found = opened(tmp_path / "cut" / "memory")
            assert found in states[max(0, done - 1) : done + 1] or (found is None and not done), (n, done)


def test_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = expected(tmp_path / "uninterrupted")
    for at in range(1, 60, 3):
        folder, done = tmp_path / str(at), []
        memory = OnDiskMemory.create(folder, image_shape=SHAPE)
        with monkeypatch.context() as patch:
            patch.setattr(files, "disk", FullDisk(at))
            with pytest.raises(files.DiskFull, match="the disk is full"):
                done.extend(step(memory) for step in STEPS)
        memory.close()
        assert opened(folder) in states[len(done) : len(done) + 2]


WORK = """
import sys
from pathlib import Path
from everlearn.memory.on_disk import OnDiskMemory, store
from tests.memory.on_disk.edits import STEPS
store.FIT_IMAGES = 12
with OnDiskMemory(Path(sys.argv[1])) as memory:
    print("open", flush=True)
    while True:
        for step in STEPS:
            step(memory)
            print("done", flush=True)
        memory.forget(memory.classes())
        print("done", flush=True)
"""


@pytest.mark.parametrize("times", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_kill_9(tmp_path: Path, times: int) -> None:
    """A process that edits in a loop is killed after a number of acknowledged edits."""
    chance, folder = random.Random(SEED), tmp_path / "memory"
    states = [*expected(tmp_path / "uninterrupted"), {}]
    OnDiskMemory.create(folder, image_shape=SHAPE).close()
    for _ in range(times):
        done = killed_after(chance.randrange(30), folder) % (len(states) - 1)
        found = opened(folder)
        assert found in states[done : done + 2]
        with OnDiskMemory(folder) as memory:
            memory.forget(memory.classes())


def killed_after(n_edits: int, folder: Path) -> int:
    """The number of edits that were acknowledged before the process ended."""
    command = [sys.executable, "-c", WORK, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as work:
        assert work.stdout is not None
        for _ in range(n_edits + 1):  # the first line is printed on opening
            assert work.stdout.readline()
        work.kill()
        return n_edits + len(work.stdout.read().splitlines())
