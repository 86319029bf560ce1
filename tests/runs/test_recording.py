import errno
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from everlearn import files
from everlearn.errors import BadInput
from everlearn.learners.naive import Naive
from everlearn.runs import (
    DamagedCheckpoint,
    Diverged,
    InexactResume,
    Record,
    Stopped,
    record,
    recording,
    resume,
)
from everlearn.runs.events import Event, Learned, RunEnded, TaskEnded

from .conftest import BreakOff, tiny


def finish(story: Iterator[Event]) -> RunEnded:
    *_, last = story
    assert isinstance(last, RunEnded)
    return last


def play_a_task(folder: Path) -> None:
    """Go on until a task ends, and leave."""
    story = resume(folder)
    while not isinstance(next(story), TaskEnded):
        pass
    story.close()  # type: ignore[attr-defined]  # a generator


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_a_run_that_was_left_ends_as_if_it_had_not(break_off: BreakOff, digest: str, after: int) -> None:
    folder = break_off(after=after)
    finish(resume(folder))
    assert Record(folder).digest == digest


def test_a_finished_run_tells_its_end_and_stays_as_it_is(tmp_path: Path) -> None:
    last = finish(record(tiny(), tmp_path / "run"))
    before = tree(tmp_path / "run")
    assert list(resume(tmp_path / "run")) == [last]
    assert {**tree(tmp_path / "run"), ".lock": b""} == {**before, ".lock": b""}


def test_another_seed_is_another_run(tmp_path: Path, digest: str) -> None:
    finish(record(tiny(seed=1), tmp_path / "run"))
    assert Record(tmp_path / "run").digest != digest


def test_weights_are_part_of_the_digest(tmp_path: Path) -> None:
    specs = [tiny("naive", n_tasks=1, **{"learner.learning_rate": rate}) for rate in (1e-3, 1.1e-3)]
    one, other = (finish(record(spec, tmp_path / spec.hash)) for spec in specs)
    assert one.digest != other.digest


# Damage


def damage(path: Path, chance: random.Random) -> None:
    """Flip one bit."""
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def newest_files(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoint").glob("00000003.*"))


def check_noticed(folder: Path) -> None:
    """The newest checkpoint is refused, the one before it is not."""
    checkpoints = Record(folder).checkpoints
    newest, before = checkpoints.newest_first()
    with pytest.raises(BadInput):
        checkpoints.read(newest)
    assert checkpoints.read(before)


def test_a_thousand_flipped_bits_are_noticed(break_off: BreakOff) -> None:
    folder, chance = break_off(), random.Random(0)
    for _ in range(1000):
        path = chance.choice(newest_files(folder))
        good = path.read_bytes()
        damage(path, chance)
        check_noticed(folder)
        path.write_bytes(good)


def test_two_hundred_cuts_are_noticed(break_off: BreakOff) -> None:
    folder, chance = break_off(), random.Random(0)
    for _ in range(200):
        path = chance.choice(newest_files(folder))
        good = path.read_bytes()
        path.write_bytes(good[: chance.randrange(len(good))])
        check_noticed(folder)
        path.write_bytes(good)


def test_twenty_swaps_with_another_run_are_noticed(break_off: BreakOff) -> None:
    folder = break_off()
    for seed in range(1, 21):
        other = break_off(tiny(seed=seed), name=f"other{seed}")
        for path in newest_files(folder):
            shutil.copy(other / "checkpoint" / path.name, path)
        check_noticed(folder)
        shutil.rmtree(other)


@pytest.mark.parametrize("seed", range(5))
def test_after_damage_the_run_goes_on_from_the_one_before_with_a_word(
    break_off: BreakOff, digest: str, seed: int
) -> None:
    folder = break_off()
    damage(newest_files(folder)[seed % 2], random.Random(seed))
    with pytest.warns(DamagedCheckpoint, match=r"checkpoint 3: .*; used 2"):
        finish(resume(folder))
    assert Record(folder).digest == digest


def test_a_log_damaged_after_the_older_checkpoint_costs_only_the_newest(
    break_off: BreakOff, digest: str
) -> None:
    folder = break_off()
    log = folder / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-5])
    with pytest.warns(DamagedCheckpoint, match=r"events.jsonl was changed"):
        finish(resume(folder))
    assert Record(folder).digest == digest


def test_if_all_is_damaged_nothing_starts_from_zero(break_off: BreakOff) -> None:
    folder = break_off()
    for path in (folder / "checkpoint").glob("*.safetensors"):
        damage(path, random.Random(1))
    before = tree(folder)
    with pytest.raises(BadInput, match=r"none of the checkpoints .* can be used"):
        finish(resume(folder))
    assert {**tree(folder), ".lock": b""} == {**before, ".lock": b""}


def test_if_the_checkpoints_are_gone_nothing_starts_from_zero(break_off: BreakOff) -> None:
    folder = break_off()
    shutil.rmtree(folder / "checkpoint")
    with pytest.raises(BadInput, match="missing, though 3 tasks were played"):
        finish(resume(folder))


def test_a_run_without_any_checkpoint_yet_begins_again(tmp_path: Path, digest: str) -> None:
    story = record(tiny(), tmp_path / "run")
    while not isinstance(next(story), Learned):
        pass
    story.close()  # type: ignore[attr-defined]
    finish(resume(tmp_path / "run"))
    assert Record(tmp_path / "run").digest == digest


# Another spec, format or machine


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "seed was 0, is 1"),
        ({"stream.image_size": 32}, "stream.image_size was 16, is 32"),
        ({"evaluation.probe_size": 9}, "evaluation.probe_size was 8, is 9"),
        ({"n_tasks": 5, "epochs": 2}, "n_tasks was 4, is 5; epochs was 1, is 2"),
    ],
)
def test_a_changed_spec_is_refused_field_by_field(break_off: BreakOff, change: dict, said: str) -> None:
    folder = break_off()
    before = tree(folder)
    with pytest.raises(BadInput) as refusal:
        resume(folder, tiny(**change))
    assert all(part in str(refusal.value) for part in said.split("; "))
    assert tree(folder) == before


def test_the_same_spec_is_welcome(break_off: BreakOff, digest: str) -> None:
    folder = break_off()
    finish(resume(folder, tiny()))
    assert Record(folder).digest == digest


def test_a_record_is_never_overwritten(break_off: BreakOff) -> None:
    folder = break_off()
    with pytest.raises(BadInput, match="already holds a record; go on with `everlearn resume"):
        record(tiny(), folder)


def test_a_newer_format_is_refused_naming_both(break_off: BreakOff) -> None:
    folder = break_off()
    path = folder / "spec.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    with pytest.raises(BadInput, match="has format 7, this everlearn reads format 1"):
        resume(folder)


def test_another_machine_is_allowed_warned_and_stamped(
    break_off: BreakOff, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = break_off()
    assert Record(folder).is_exact
    here = recording.machine("cpu")
    monkeypatch.setattr(recording, "machine", lambda device: {**here, "threads": 64})
    with pytest.warns(InexactResume, match=rf"threads was {torch.get_num_threads()}, is 64"):
        play_a_task(folder)
    assert not Record(folder).is_exact
    finish(resume(folder))
    assert not Record(folder).is_exact


# Trouble while playing


def test_infinite_loss_stops_the_run_and_keeps_the_last_sound_checkpoint(
    break_off: BreakOff, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = break_off(tiny("naive"), after=1)
    monkeypatch.setattr(Naive, "learn", lambda self, batch: {"loss": math.nan})
    with pytest.raises(Diverged, match="loss became nan in task 2, epoch 0, batch 0"):
        finish(resume(folder))
    monkeypatch.undo()
    finish(resume(folder))
    assert Record(folder).is_finished


def test_infinite_weights_are_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def poisoned(self: Naive, batch: object) -> dict[str, float]:
        with torch.no_grad():
            next(self.body.parameters())[0] = math.inf
        return {"loss": 1.0}

    monkeypatch.setattr(Naive, "learn", poisoned)
    with pytest.raises(Diverged, match="not finite any more at the end of task 0"):
        finish(record(tiny("naive"), tmp_path / "run"))
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_a_signal_ends_with_stopped_and_handlers_come_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    story = record(tiny(), tmp_path / "run")
    while not isinstance(next(story), Learned):
        pass
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(Stopped, match="stopped by SIGTERM and saved; go on with `everlearn resume"):
        next(story)
    assert signal.getsignal(signal.SIGTERM) is before


def n_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_file_stays_open(break_off: BreakOff) -> None:
    before = n_open()
    finish(resume(break_off()))
    for name in ("bad", "worse"):
        folder = break_off(name=name)
        shutil.rmtree(folder / "checkpoint")
        with pytest.raises(BadInput):
            finish(resume(folder))
    assert n_open() == before


# Folders


@pytest.mark.parametrize(
    "bad",
    [
        {"n_tasks": 5, "stream.n_tasks": 2},
        {"stream.image_size": 512, "stream.rgb": True, "evaluation.probe_size": 1_000_000},
        {"device": "cuda:99"},
    ],
)
def test_a_run_that_cannot_be_leaves_no_trace(tmp_path: Path, bad: dict) -> None:
    with pytest.raises(BadInput):
        record(tiny(**bad), tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["notes.txt", "checkpoint/x"])
def test_a_folder_with_other_things_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / content).parent.mkdir(exist_ok=True)
    (tmp_path / content).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(BadInput, match="holds something else"):
        record(tiny(), tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("folder", ["file/below", "x" * 300, "dangling", "a\0b", "", " "])
def test_folders_that_cannot_be_are_refused_before_anything(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    with pytest.raises(BadInput):
        record(tiny(), str(tmp_path / folder) if folder.strip() else folder)
    assert tree(tmp_path) == before


def test_an_interrupted_beginning_does_not_block_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".spec.json.new").write_text("half")
    finish(record(tiny(n_tasks=1), tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_unwritable_folder_is_refused_for_another_user(tmp_path: Path) -> None:
    for path in (tmp_path, *list(tmp_path.parents)[:2]):
        path.chmod(0o755)
    code = (
        "import os, pathlib\nfrom everlearn.runs.records import check_free\nos.setuid(65534)\n"
        f"try: check_free(pathlib.Path({str(tmp_path / 'run')!r}))\n"
        "except ValueError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "a folder you may write to" in said.stdout, said.stderr
    assert not list(tmp_path.iterdir())


# Files from strangers


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (os.system, (f"touch {self.path}",))


def strange_files(canary: Path) -> Iterator[bytes]:
    import io
    import pickle

    import numpy as np

    yield pickle.dumps(Canary(canary))
    objects = io.BytesIO()
    np.save(objects, np.array([Canary(canary)], dtype=object), allow_pickle=True)
    yield objects.getvalue()
    torch_file = io.BytesIO()
    torch.save({"a": Canary(canary)}, torch_file)
    yield torch_file.getvalue()
    header = json.dumps(
        {f"t{i}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(100_000)}
    )
    yield len(header).to_bytes(8, "little") + header.encode() + bytes(100_000)
    yield (99_999_999).to_bytes(8, "little") + b"{"
    yield b"[" * 100_000


def test_strange_files_are_never_executed(break_off: BreakOff, tmp_path: Path) -> None:
    folder, canary = break_off(), tmp_path / "canary"
    for data in strange_files(canary):
        for path in (folder / "checkpoint").glob("*.safetensors"):
            path.write_bytes(data)
            path.with_suffix(".sha256").write_text(f"{files.sha256(data)}  {path.name}\n")
        with pytest.raises(BadInput, match="none of the checkpoints"):
            finish(resume(folder))
    assert not canary.exists()


def test_a_well_formed_state_that_does_not_fit_is_refused(break_off: BreakOff) -> None:
    folder = break_off()
    checkpoints = Record(folder).checkpoints
    good = checkpoints.read(3)
    for bad in (
        {},
        {**good, "play": {}},
        {**good, "logs": {}},
        {**good, "play": {**good["play"], "learner": {}}},
    ):
        checkpoints.save(3, bad)
        with pytest.warns(DamagedCheckpoint):
            play_a_task(folder)


@pytest.mark.parametrize("name", ["events.jsonl", "scores.jsonl", "seconds.jsonl", ".lock"])
def test_links_inside_a_record_are_not_followed(break_off: BreakOff, tmp_path: Path, name: str) -> None:
    folder, precious = break_off(), tmp_path / "precious"
    precious.write_text("keep me")
    (folder / name).unlink()
    (folder / name).symlink_to(precious)
    with pytest.raises(BadInput, match="cannot write"):
        finish(resume(folder))
    assert precious.read_text() == "keep me"


def test_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    class Full(files.Disk):
        def write(self, file: int, data: bytes | memoryview) -> int:
            raise OSError(errno.ENOSPC, "full")

    story = record(tiny(), tmp_path / "run")
    next(story)
    monkeypatch.setattr(files, "disk", Full())
    with pytest.raises(files.DiskFull, match=r"the disk is full while writing .* bytes are free"):
        finish(story)
    monkeypatch.undo()
    finish(resume(tmp_path / "run"))
    assert Record(tmp_path / "run").digest == digest
