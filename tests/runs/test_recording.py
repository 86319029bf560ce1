import errno
import math
import shutil
import signal
from pathlib import Path

import pytest
import torch

from everlearn import files
from everlearn.errors import BadInput
from everlearn.learners.naive import Naive
from everlearn.runs import Diverged, InexactResume, Record, Stopped, record, recorder, resume
from everlearn.runs.events import Learned
from tests.unprivileged import only_root, unprivileged_output

from .conftest import BreakOff, finish, play_a_task, tiny, tree


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


# Another spec, format or machine


CHANGED = {
    "stream.image_size": 32,
    "stream.seed": 1,
    "stream.n_tasks": 9,
    "stream.classes_per_task": 3,
    "stream.rgb": True,
    "learner.memory_size": 7,
    "learner.learning_rate": 0.5,
    "evaluation.probe_size": 9,
    "evaluation.every": 2,
    "evaluation.inside_every": 3,
    "evaluation.ahead": False,
    "n_tasks": 5,
    "epochs": 2,
    "batch_size": 17,
    "seed": 1,
    "device": "cuda",
}


@pytest.mark.parametrize("field", CHANGED)
def test_any_change_of_the_spec_is_refused_by_name(break_off: BreakOff, field: str) -> None:
    folder = break_off(tiny("er"), after=0)
    before = tree(folder)
    name = field.replace("learner.", "learner.settings.")
    with pytest.raises(BadInput, match=rf"plays something else: {name} was .*, is {CHANGED[field]};"):
        resume(folder, tiny("er", **{field: CHANGED[field]}))
    assert tree(folder) == before


def test_all_changes_of_the_spec_are_told_at_once(break_off: BreakOff) -> None:
    folder = break_off()
    with pytest.raises(BadInput) as refusal:
        resume(folder, tiny(n_tasks=5, epochs=2))
    assert "epochs was 1, is 2; n_tasks was 4, is 5" in str(refusal.value)


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
    here = recorder.machine("cpu")
    monkeypatch.setattr(recorder, "machine", lambda device: {**here, "threads": 64})
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
            next(self.net.parameters())[0] = math.inf
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
    assert Record(tmp_path).is_finished


@only_root
def test_an_unwritable_folder_is_refused_for_another_user(tmp_path: Path) -> None:
    for path in (tmp_path, *list(tmp_path.parents)[:2]):
        path.chmod(0o755)
    before = "import pathlib; from everlearn.runs.run_record import check_free"
    said = unprivileged_output(before, f"check_free(pathlib.Path({str(tmp_path / 'run')!r}))")
    assert "a folder you may write to" in said
    assert not list(tmp_path.iterdir())


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
