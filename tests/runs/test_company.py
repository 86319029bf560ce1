"""One run in two processes: the same record as from one, whoever is asked to stop or dies."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.networks.distributed import RankLost
from everlearn.runs import InexactResume, Record, RunSpec, Stopped, record, resume, together
from everlearn.runs.events import Event, Learned, RunEnded
from everlearn.settings import flatten

from .conftest import finish, tiny, tree

SHAREABLE = [name for name in learners.names() if learners.learner_class(name).supports_data_parallel]
TOLERANCE = 1e-4
"""Of weights after a short run of plain descent, beside the largest of their kind; as docs/scale.md says."""
ADAM_STEP = 1e-3
"""A slope that is 0 but for rounding moves a weight by up to a whole step of Adam, this way or that."""


def spec_of(name: str, **settings: Any) -> RunSpec:
    """A short run with odd numbers of images in its batches, by plain descent where that can be chosen."""
    known = learners.settings_class(name).model_fields
    sgd = {"learner.optimizer": "sgd", "learner.learning_rate": 0.01} if "optimizer" in known else {}
    small = {"learner.backbone": "small"} if "backbone" in known else {}
    return tiny(name, n_tasks=2, batch_size=15, **sgd, **small, **settings)


def state_of(folder: Path) -> dict[str, Any]:
    checkpoints = Record(folder).checkpoints
    return dict(flatten(checkpoints.read(checkpoints.numbers()[-1])["play"]))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every run once in one process and once in two, and `er` once more in two."""
    folder = tmp_path_factory.mktemp("both")
    for name in SHAREABLE:
        finish(record(spec_of(name), folder / "one" / name))
    with together(spec_of("er"), processes=2):
        for name in SHAREABLE:
            finish(record(spec_of(name), folder / "two" / name))
        finish(record(spec_of("er"), folder / "again"))
        next(record(spec_of("er"), folder / "left"))
    return folder


@pytest.mark.parametrize("name", SHAREABLE)
def test_two_processes_learn_what_one_learns(both: Path, name: str) -> None:
    one, two = (state_of(both / n / name) for n in ("one", "two"))
    assert one.keys() == two.keys()
    adam = 0.0 if "optimizer" in learners.settings_class(name).model_fields else ADAM_STEP
    for key, value in one.items():
        if is_computed(key, value):
            scale = max(1e-3, float(np.nanmax(np.abs(value), initial=0)))
            np.testing.assert_allclose(two[key], value, rtol=0, atol=TOLERANCE * scale + adam, err_msg=key)
        else:
            np.testing.assert_equal(two[key], value, err_msg=key)


def is_computed(key: str, value: Any) -> bool:
    """Whether a part of a state comes out of the network, and not from the stream or from chance."""
    is_sum = key.startswith("learner.sums.")  # whole numbers that stand for fractions
    return "losses" in key or is_sum or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


@pytest.mark.parametrize("name", SHAREABLE)
def test_two_processes_tell_the_same_story(both: Path, name: str) -> None:
    one, two = (list(Record(both / n / name).events()) for n in ("one", "two"))
    for told, retold in zip(one, two, strict=True):
        assert retold.pop("losses", {}) == pytest.approx(told.pop("losses", {}), rel=1e-4)
        assert {**retold, "digest": ""} == {**told, "digest": ""}
    assert sorted(tree(both / "one" / name)) == sorted(tree(both / "two" / name))


def test_two_processes_end_alike_every_time(both: Path) -> None:
    again = Record(both / "again")
    assert again.digest == Record(both / "two" / "er").digest
    assert again.machine["processes"] == 2
    assert not partners()


def partners() -> list[psutil.Process]:
    """The processes that play along; other tests may have left some of their own in this one."""
    return [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and "everlearn.runs.sweep.child_main" in child.cmdline()
    ]


# Stopped, killed, resumed


def disturbed(spec: RunSpec, begin: Callable[[], Iterator[Event]], trouble: Callable[[], object]) -> None:
    """Play in two processes; make trouble after a batch."""
    with together(spec, processes=2):
        for event in begin():
            if isinstance(event, Learned):
                trouble()


def test_stopped_and_robbed_of_a_process_it_ends_the_same(both: Path, tmp_path: Path) -> None:
    folder, spec = tmp_path / "run", spec_of("er")
    with pytest.raises(Stopped, match=r"stopped by SIGTERM and saved.*--processes 2`"):
        disturbed(spec, lambda: record(spec, folder), lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(RankLost) as loss:
        disturbed(spec, lambda: resume(folder), lambda: partners()[0].kill())
    assert str(loss.value) == (
        "process 1 of 2 ended (it was ended by SIGKILL, as the system does when memory runs out): another "
        "process of this run has ended or cannot be reached; nothing saved was lost: go on with "
        f"`everlearn resume {folder} --processes 2`"
    )
    assert not partners()
    shutil.copytree(folder, tmp_path / "alone")
    with together(spec, processes=2):
        finish(resume(folder))
    assert Record(folder).digest == Record(both / "two" / "er").digest
    _with_another_number(tmp_path / "alone")


def _with_another_number(folder: Path) -> None:
    with pytest.warns(InexactResume, match="processes was 2, is 1"):
        finish(resume(folder))
    assert not Record(folder).is_exact


def test_nobody_outlives_the_first_process(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "everlearn", "run", *_words(spec_of("naive", epochs=500), tmp_path)]
    leader = psutil.Popen([*words, "--processes", "2"])
    while not (tmp_path / "record" / "events.jsonl").is_file():
        assert leader.poll() is None
    (other,) = leader.children()
    leader.kill()
    leader.wait()
    psutil.wait_procs([other], timeout=30)
    assert not other.is_running()


def test_torchrun_starts_the_processes_as_well(both: Path, tmp_path: Path) -> None:
    words = ["run", *_words(spec_of("er"), tmp_path)]
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*launch, "-m", "everlearn", *words], check=True, capture_output=True, timeout=120)
    assert Record(tmp_path / "record").digest == Record(both / "two" / "er").digest


@pytest.mark.slow
def test_torchrun_goes_on_after_a_loss(both: Path, tmp_path: Path) -> None:
    spec = spec_of("er", epochs=200)
    with together(spec, processes=2):
        finish(record(spec, tmp_path / "calm"))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = ["--max-restarts", "1", "-m", "everlearn", "run", *_words(spec, tmp_path)]
    leader = psutil.Popen([*launch, *words], stderr=subprocess.DEVNULL)
    wait_for_a_checkpoint(tmp_path / "record", leader)
    leader.children()[1].kill()
    assert leader.wait(300) == 0
    assert Record(tmp_path / "record").digest == Record(tmp_path / "calm").digest


def wait_for_a_checkpoint(folder: Path, leader: psutil.Popen) -> None:
    while not list(folder.glob("checkpoint/*.sha256")):
        assert leader.poll() is None


def _words(spec: RunSpec, folder: Path) -> list[str]:
    (folder / "spec.json").write_text(spec.to_json())
    return ["--spec", str(folder / "spec.json"), "--record", str(folder / "record")]


# Refused


def refused(spec: RunSpec, processes: int = 2) -> str:
    with pytest.raises(BadInput) as refusal, together(spec, processes=processes):
        raise AssertionError("it should not have begun")
    assert not partners()
    return str(refusal.value)


def test_learners_that_cannot_share_are_refused_with_those_that_can() -> None:
    said = refused(tiny("nearest"))
    assert said.startswith("nearest cannot share its work, so 2 processes would all do the same; use one, or")
    assert all(name in said for name in SHAREABLE)


def test_more_processes_than_images_are_refused() -> None:
    assert refused(tiny("er", batch_size=3), 4) == (
        "batch_size is 3, too few for 4 processes to share; make it larger"
    )


def test_odd_numbers_of_processes_are_refused() -> None:
    assert refused(tiny("er"), 0) == "processes is 0; it must be between 1 and 1024"


@pytest.mark.parametrize("device", ["cuda:1", "mps"])
def test_a_single_device_is_refused(device: str) -> None:
    assert refused(tiny("er", device=device)).startswith(f"device is {device}; several processes compute on")


def test_processes_that_were_started_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    assert refused(tiny("er")) == "processes is 2, but 3 were started already; leave it out"


def test_one_process_is_company_enough(tmp_path: Path) -> None:
    spec = tiny("nearest")
    with together(spec):
        assert isinstance(finish(record(spec, tmp_path / "run")), RunEnded)
