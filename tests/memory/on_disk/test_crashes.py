"""Killed at any moment, a shelf holds every edit that was acknowledged, none half, and no bytes besides."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from everlearn import files
from everlearn.memory.on_disk import Shelf
from tests.crash.disks import FullDisk, KeepingDisk
from tests.crash.harness import SEED
from tests.crash.power import Platter, RememberingDisk

from .scripts import SHAPE, STEPS, Held, expected, held, small_fits, traces


@pytest.fixture(autouse=True)
def _small_fits(monkeypatch: pytest.MonkeyPatch):
    with small_fits(monkeypatch):
        yield


def opened(folder: Path) -> Held | None:
    """What a folder holds; None if it is not a shelf yet."""
    if not (folder / "shelf.json").exists():
        return None
    with Shelf(folder) as shelf:
        content = held(shelf)
        assert len(shelf) == sum(len(images) for images, _ in content.values())
    assert not traces(folder, content)
    return content


def test_a_death_at_any_act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states, folder, kept = expected(tmp_path / "calm"), tmp_path / "shelf", tmp_path / "kept"
    kept.mkdir()
    disk = KeepingDisk(folder, kept)
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", disk)
        shelf = Shelf.make(folder, image_shape=SHAPE)
        acknowledged = [disk.n_acts]
        for step in STEPS:
            step(shelf)
            acknowledged.append(disk.n_acts)
        shelf.close()
    moments: dict[str, set[int]] = {}
    for at, _, state in disk.moments:
        moments.setdefault(state, set()).add(sum(at > done for done in acknowledged))
    assert len(moments) > 50
    for state, done in moments.items():
        found = opened(kept / state)
        # The same bytes may be left by two moments, before and after an edit was acknowledged.
        allowed = [states[:n][-1:] + states[n : n + 1] for n in done]
        assert all(found in each or (found is None and 0 in done) for each in allowed), (state, done)


def test_a_power_cut_at_any_act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states, root, diary = expected(tmp_path / "calm"), tmp_path / "disk", tmp_path / "diary"
    root.mkdir()
    acknowledged = []
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", RememberingDisk(diary, root))
        shelf = Shelf.make(root / "shelf", image_shape=SHAPE)
        for step in (lambda _: None, *STEPS):
            step(shelf)
            acknowledged.append(len(diary.read_text().splitlines()))
        shelf.close()
    acts, chance = [json.loads(line) for line in diary.read_text().splitlines()], random.Random(SEED)
    platter = Platter()
    for n, act in enumerate(acts, 1):
        platter.replay(act)
        done = sum(n >= each for each in acknowledged)
        for toss in (None, chance):
            platter.cut_power(tmp_path / "cut", toss)
            found = opened(tmp_path / "cut" / "shelf")
            assert found in states[max(0, done - 1) : done + 1] or (found is None and not done), (n, done)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = expected(tmp_path / "calm")
    for at in range(1, 60, 3):
        folder, done = tmp_path / str(at), []
        shelf = Shelf.make(folder, image_shape=SHAPE)
        with monkeypatch.context() as patch:
            patch.setattr(files, "disk", FullDisk(at))
            with pytest.raises(files.DiskFull, match="the disk is full"):
                done.extend(step(shelf) for step in STEPS)
        shelf.close()
        assert opened(folder) in states[len(done) : len(done) + 2]


WORK = """
import sys
from pathlib import Path
from everlearn.memory.on_disk import Shelf, shelf
from tests.memory.on_disk.scripts import STEPS
shelf.FITTED = 12
with Shelf(Path(sys.argv[1])) as kept:
    print("open", flush=True)
    while True:
        for step in STEPS:
            step(kept)
            print("done", flush=True)
        kept.forget(kept.classes())
        print("done", flush=True)
"""


@pytest.mark.parametrize("times", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_kill_9(tmp_path: Path, times: int) -> None:
    """A process that edits without end, killed after a number of acknowledged edits and a moment more."""
    chance, folder = random.Random(SEED), tmp_path / "shelf"
    states = [*expected(tmp_path / "calm"), {}]
    Shelf.make(folder, image_shape=SHAPE).close()
    for _ in range(times):
        done = killed_after(chance.randrange(30), folder) % (len(states) - 1)
        found = opened(folder)
        assert found in states[done : done + 2]
        with Shelf(folder) as shelf:
            shelf.forget(shelf.classes())


def killed_after(n_edits: int, folder: Path) -> int:
    """How many edits were acknowledged before the process died."""
    command = [sys.executable, "-c", WORK, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as work:
        assert work.stdout is not None
        for _ in range(n_edits + 1):  # the first line says that it is open
            assert work.stdout.readline()
        work.kill()
        return n_edits + len(work.stdout.read().splitlines())
