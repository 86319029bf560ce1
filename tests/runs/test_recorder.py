import errno
import json
import math
import random
import shutil
import signal
import warnings
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
    recorder,
    resume,
)
from everlearn.runs.events import TrainStep
from everlearn.runs.run_files import Checkpoints

from .conftest import Interrupt, finish, n_open_files, run_one_task, run_until, tiny, tree

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_interrupted_run_ends_like_an_uninterrupted_one(
    interrupted: Interrupt, digest: str, after: int
) -> None:
    folder = interrupted(after=after)
    finish(resume(folder))
    assert Record(folder).digest == digest


def test_run_without_a_checkpoint_starts_over(tmp_path: Path, digest: str) -> None:
    run_until(record(tiny(), tmp_path / "run"), lambda event: isinstance(event, TrainStep))
    finish(resume(tmp_path / "run"))
    assert Record(tmp_path / "run").digest == digest


def test_resume_of_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    last = finish(record(tiny(), tmp_path / "run"))
    before = tree(tmp_path / "run")
    assert list(resume(tmp_path / "run")) == [last]
    assert tree(tmp_path / "run") == before


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("record-v*/")))
def test_record_of_every_format_can_be_resumed(tmp_path: Path, name: str) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactResume)  # this learner is exact with any torch and threads
        finish(resume(tmp_path / name))
    assert Record(tmp_path / name).digest == (GOLDEN / f"{name}.digest").read_text().strip()


def test_digest_depends_on_seed_and_weights(tmp_path: Path, digest: str) -> None:
    finish(record(tiny(seed=1), tmp_path / "run"))
    assert Record(tmp_path / "run").digest != digest
    specs = [tiny("naive", n_tasks=1, **{"learner.learning_rate": rate}) for rate in (1e-3, 1.1e-3)]
    one, other = (finish(record(spec, tmp_path / spec.hash)) for spec in specs)
    assert one.digest != other.digest


# Resume with another spec, format or machine


CHANGED = {
    "stream.image_size": 32,
    "stream.seed": 1,
    "learner.memory_size": 7,
    "evaluation.n_images": 9,
    "evaluation.forward_transfer": False,
    "n_tasks": 5,
    "device": "cuda",
}


@pytest.mark.parametrize("setting", CHANGED)
def test_resume_with_another_spec_is_rejected(interrupted: Interrupt, setting: str) -> None:
    folder = interrupted(tiny("er"), after=0)
    before = tree(folder)
    name = setting.replace("learner.", "learner.settings.")
    with pytest.raises(BadInput, match=rf"record of another run: {name} was .*, is {CHANGED[setting]};"):
        resume(folder, tiny("er", **{setting: CHANGED[setting]}))
    assert tree(folder) == before


def test_settings_newer_than_a_record_have_their_defaults(interrupted: Interrupt) -> None:
    folder = interrupted(tiny("er"), after=0)
    spec = json.loads((folder / "spec.json").read_text())
    del spec["learner"]["settings"]["memory_size"]
    (folder / "spec.json").write_text(json.dumps(spec))
    Record(folder).check_spec(tiny("er").to_mapping())
    with pytest.raises(BadInput, match="memory_size was"):
        Record(folder).check_spec(tiny("er", **{"learner.memory_size": 7}).to_mapping())


def test_error_lists_all_differences(interrupted: Interrupt) -> None:
    with pytest.raises(BadInput, match="epochs was 1, is 2; n_tasks was 4, is 5"):
        resume(interrupted(), tiny(n_tasks=5, epochs=2))


def test_resume_with_the_same_spec(interrupted: Interrupt, digest: str) -> None:
    folder = interrupted()
    finish(resume(folder, tiny()))
    assert Record(folder).digest == digest


def test_newer_format_is_rejected(interrupted: Interrupt) -> None:
    folder = interrupted()
    path = folder / "spec.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    with pytest.raises(BadInput, match="has format 7, this everlearn reads format 1"):
        resume(folder)


def test_resume_on_another_machine_warns_and_is_marked(
    interrupted: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted()
    assert Record(folder).is_exact
    here = recorder.machine(torch.device("cpu"), torch.get_num_threads())
    assert {"torch", "numpy", "threads", "instructions"} <= set(here)
    monkeypatch.setattr(recorder, "machine", lambda device, threads: {**here, "threads": 64})
    with pytest.warns(InexactResume, match=rf"threads was {torch.get_num_threads()}, is 64"):
        run_one_task(folder)
    assert not Record(folder).is_exact
    finish(resume(folder))
    assert not Record(folder).is_exact


# Damaged records


def flip_bit(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def newest_files(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoint").glob("00000003.*"))


def readable(folder: Path) -> list[int]:
    checkpoints = Record(folder).checkpoints
    return [number for number in checkpoints.newest_first() if _is_readable(checkpoints, number)]


def _is_readable(checkpoints: Checkpoints, number: int) -> bool:
    try:
        return bool(checkpoints.read(number))
    except BadInput:
        return False


@pytest.mark.parametrize("damage", [flip_bit, truncate])
def test_damage_is_always_detected(interrupted: Interrupt, damage: object) -> None:
    folder, rng = interrupted(), random.Random(0)
    assert readable(folder) == [3, 2]
    for _ in range(300):
        path = rng.choice(newest_files(folder))
        good = path.read_bytes()
        damage(path, rng)  # type: ignore[operator]
        assert readable(folder) == [2]
        path.write_bytes(good)


def test_checkpoint_of_another_run_is_detected(interrupted: Interrupt) -> None:
    folder, other = interrupted(), interrupted(tiny(seed=1), name="other")
    for path in newest_files(folder):
        shutil.copy(other / "checkpoint" / path.name, path)
    assert readable(folder) == [2]


@pytest.mark.parametrize("number", [0, 1])
def test_damaged_checkpoint_is_replaced_by_the_previous_one(
    interrupted: Interrupt, digest: str, number: int
) -> None:
    folder = interrupted()
    flip_bit(newest_files(folder)[number], random.Random(number))
    with pytest.warns(DamagedCheckpoint, match=r"checkpoint 3: .*; used 2"):
        finish(resume(folder))
    assert Record(folder).digest == digest


def test_log_damaged_after_the_previous_checkpoint(interrupted: Interrupt, digest: str) -> None:
    folder = interrupted()
    log = folder / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-5])
    with pytest.warns(DamagedCheckpoint, match=r"events.jsonl was changed"):
        finish(resume(folder))
    assert Record(folder).digest == digest


def test_run_does_not_start_over_if_all_checkpoints_are_damaged(interrupted: Interrupt) -> None:
    folder = interrupted()
    for path in (folder / "checkpoint").glob("*.safetensors"):
        flip_bit(path, random.Random(1))
    before = tree(folder)
    with pytest.raises(BadInput, match=r"none of the checkpoints .* can be used"):
        finish(resume(folder))
    assert tree(folder) == before


def test_run_does_not_start_over_if_checkpoints_are_missing(interrupted: Interrupt) -> None:
    folder = interrupted()
    shutil.rmtree(folder / "checkpoint")
    with pytest.raises(BadInput, match="missing, but 3 tasks are finished"):
        finish(resume(folder))


# Errors during a run


def test_diverged_run_keeps_its_last_checkpoint(
    interrupted: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted(tiny("naive"), after=1)
    monkeypatch.setattr(Naive, "learn", lambda self, batch: {"loss": math.nan})
    with pytest.raises(Diverged, match="loss became nan in task 2, epoch 0, batch 0"):
        finish(resume(folder))
    monkeypatch.undo()
    finish(resume(folder))
    assert Record(folder).is_finished


def test_infinite_weights_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(self: Naive, batch: object) -> dict[str, float]:
        with torch.no_grad():
            next(self.net.parameters())[0] = math.inf
        return {"loss": 1.0}

    monkeypatch.setattr(Naive, "learn", learn)
    with pytest.raises(Diverged, match="not finite any more at the end of task 0"):
        finish(record(tiny("naive"), tmp_path / "run"))
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_signal_stops_the_run_and_restores_handlers(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    events = record(tiny(), tmp_path / "run")
    next(event for event in events if isinstance(event, TrainStep))
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(Stopped, match="stopped by SIGTERM and saved; continue with `everlearn resume"):
        next(events)
    assert signal.getsignal(signal.SIGTERM) is before


def test_files_are_closed(interrupted: Interrupt) -> None:
    before = n_open_files()
    finish(resume(interrupted()))
    folder = interrupted(name="damaged")
    shutil.rmtree(folder / "checkpoint")
    with pytest.raises(BadInput):
        finish(resume(folder))
    assert n_open_files() == before


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    class Full(files.Disk):
        def write(self, file: int, data: bytes | memoryview) -> int:
            raise OSError(errno.ENOSPC, "full")

    events = record(tiny(), tmp_path / "run")
    next(events)
    monkeypatch.setattr(files, "disk", Full())
    with pytest.raises(files.DiskFull, match=r"the disk is full while writing .* bytes are free"):
        finish(events)
    monkeypatch.undo()
    finish(resume(tmp_path / "run"))
    assert Record(tmp_path / "run").digest == digest
