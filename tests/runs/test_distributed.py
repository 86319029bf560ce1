"""One run in two processes: the same record as in one process, however the processes end."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.networks.distributed import RankLost
from everlearn.runs import InexactResume, Record, RunSpec, Stopped, distributed, process_group, record, resume
from everlearn.runs.distributed import RankInfo, RanksDisagree, agree_on_stop
from everlearn.runs.events import Event, RunEnded, TaskStarted, TrainStep
from everlearn.settings import flatten

from .conftest import finish, tiny, tree

DATA_PARALLEL = [name for name in learners.names() if learners.learner_class(name).supports_data_parallel]
FIRST = ("dcl-paper", "er", "slda")
"""Learners with a gradient of their own, an ordinary one and none; the others follow in `make slow`."""
NAMES = [pytest.param(name, marks=[] if name in FIRST else pytest.mark.slow) for name in DATA_PARALLEL]
TOLERANCE = 1e-4
"""Relative to the largest weight after a short run with SGD; as stated in docs/scale.md."""
ADAM_STEP = 1e-3
"""Adam turns a gradient of zero up to rounding into a whole step in either direction."""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ENVIRONMENT = {"RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "node-1", "MASTER_PORT": "29500"}


def spec_of(name: str, **settings: Any) -> RunSpec:
    """A short run with batches of odd size, with SGD if the learner has a choice."""
    known = learners.settings_class(name).model_fields
    sgd = {"learner.optimizer": "sgd", "learner.learning_rate": 0.01} if "optimizer" in known else {}
    small = {"learner.backbone": "small"} if "backbone" in known else {}
    return tiny(name, n_tasks=2, batch_size=15, **sgd, **small, **settings)


def state_of(folder: Path) -> dict[str, Any]:
    checkpoints = Record(folder).checkpoints
    return dict(flatten(checkpoints.read(checkpoints.numbers()[-1])["run"]))


def child_ranks() -> list[psutil.Process]:
    """Other ranks that this process has launched, without children of other tests."""
    return [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and "everlearn.runs.child_main" in child.cmdline()
    ]


@contextmanager
def in_one_and_two_processes(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Record runs of learners in one process and in two; ends with a group of two processes."""
    for name in names:
        finish(record(spec_of(name), folder / "one" / name))
    with process_group(spec_of("er"), processes=2):
        for name in names:
            finish(record(spec_of(name), folder / "two" / name))
        yield


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first learners in one and in two processes, and `er` twice in two."""
    folder = tmp_path_factory.mktemp("records")
    with in_one_and_two_processes(folder, FIRST):
        finish(record(spec_of("er"), folder / "again"))
        next(record(spec_of("er"), folder / "abandoned"))
    return folder


@pytest.fixture(scope="module")
def other_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others")
    with in_one_and_two_processes(folder, [name for name in DATA_PARALLEL if name not in FIRST]):
        return folder


@pytest.fixture
def folder(request: pytest.FixtureRequest, name: str) -> Path:
    """The folder with the records of a learner."""
    found: Path = request.getfixturevalue("records" if name in FIRST else "other_records")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_learn_the_same_weights_as_one(folder: Path, name: str) -> None:
    one, two = (state_of(folder / n / name) for n in ("one", "two"))
    assert one.keys() == two.keys()
    adam = 0.0 if "optimizer" in learners.settings_class(name).model_fields else ADAM_STEP
    for key, value in one.items():
        if is_computed(key, value):
            scale = max(1e-3, float(np.nanmax(np.abs(value), initial=0)))
            np.testing.assert_allclose(two[key], value, rtol=0, atol=TOLERANCE * scale + adam, err_msg=key)
        else:
            np.testing.assert_equal(two[key], value, err_msg=key)


def is_computed(key: str, value: Any) -> bool:
    """Whether a part of a state is computed by the network, not by the stream or the random generator."""
    is_sum = key.startswith("learner.sums.")  # fixed-point numbers
    return "losses" in key or is_sum or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_log_the_same_events_as_one(folder: Path, name: str) -> None:
    one, two = (list(Record(folder / n / name).events()) for n in ("one", "two"))
    for expected, found in zip(one, two, strict=True):
        assert found.pop("losses", {}) == pytest.approx(expected.pop("losses", {}), rel=1e-4)
        assert {**found, "digest": ""} == {**expected, "digest": ""}
    assert sorted(tree(folder / "one" / name)) == sorted(tree(folder / "two" / name))


def test_two_processes_are_deterministic(records: Path) -> None:
    again = Record(records / "again")
    assert again.digest == Record(records / "two" / "er").digest
    assert again.machine["processes"] == 2
    assert not child_ranks()


# Stopped, killed, resumed


def disturb(spec: RunSpec, start: Callable[[], Iterator[Event]], disturbance: Callable[[], object]) -> None:
    """Run in two processes with a disturbance after each batch."""
    with process_group(spec, processes=2):
        for event in start():
            if isinstance(event, TrainStep):
                disturbance()


@pytest.mark.slow
def test_stopped_and_killed_run_has_the_same_result(records: Path, tmp_path: Path) -> None:
    folder, spec = tmp_path / "run", spec_of("er")
    with pytest.raises(Stopped, match=r"stopped by SIGTERM and saved.*--processes 2`"):
        disturb(spec, lambda: record(spec, folder), lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(RankLost) as loss:
        disturb(spec, lambda: resume(folder), lambda: child_ranks()[0].kill())
    message = str(loss.value)
    assert message.startswith(
        "rank 1 of 2 ended (terminated by SIGKILL (the system may have run out of memory)"
    )
    assert message.endswith(f"the record is intact: continue with `everlearn resume {folder} --processes 2`")
    assert not child_ranks()
    shutil.copytree(folder, tmp_path / "alone")
    with process_group(spec, processes=2):
        finish(resume(folder))
    assert Record(folder).digest == Record(records / "two" / "er").digest
    with pytest.warns(InexactResume, match="processes was 2, is 1"):
        finish(resume(tmp_path / "alone"))
    assert not Record(tmp_path / "alone").is_exact


def arguments(spec: RunSpec, folder: Path) -> list[str]:
    (folder / "spec.json").write_text(spec.to_json())
    return ["-m", "everlearn", "run", "--spec", f"{folder}/spec.json", "--record", f"{folder}/record"]


def wait_for_file(folder: Path, pattern: str, process: psutil.Popen) -> None:
    while not list(folder.glob(pattern)):
        assert process.poll() is None


@pytest.mark.more
def test_no_rank_outlives_rank_0(tmp_path: Path) -> None:
    command = [sys.executable, *arguments(spec_of("naive", epochs=500), tmp_path), "--processes", "2"]
    rank_0 = psutil.Popen(command)
    wait_for_file(tmp_path, "record/events.jsonl", rank_0)
    (other,) = rank_0.children()
    rank_0.kill()
    rank_0.wait()
    psutil.wait_procs([other], timeout=30)
    assert not other.is_running()


@pytest.mark.slow
def test_torchrun_has_the_same_result(records: Path, tmp_path: Path) -> None:
    command = [*TORCHRUN, *arguments(spec_of("er"), tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert Record(tmp_path / "record").digest == Record(records / "two" / "er").digest


@pytest.mark.slow
def test_torchrun_resumes_after_a_loss(tmp_path: Path) -> None:
    spec = spec_of("er", epochs=200)
    with process_group(spec, processes=2):
        finish(record(spec, tmp_path / "uninterrupted"))
    command = [*TORCHRUN, "--max-restarts", "1", *arguments(spec, tmp_path)]
    launcher = psutil.Popen(command, stderr=subprocess.DEVNULL)
    wait_for_file(tmp_path, "record/checkpoint/*.sha256", launcher)
    launcher.children()[1].kill()
    assert launcher.wait(300) == 0
    assert Record(tmp_path / "record").digest == Record(tmp_path / "uninterrupted").digest


# Invalid requests


def error_of(spec: RunSpec, processes: int = 2) -> str:
    with pytest.raises(BadInput) as error, process_group(spec, processes=processes):
        raise AssertionError("the group must not start")
    assert not child_ranks()
    return str(error.value)


def test_learner_without_data_parallelism_is_rejected() -> None:
    message = error_of(tiny("nearest"))
    assert message.startswith("nearest does not support data parallelism; use one process, or one of ")
    assert all(name in message for name in DATA_PARALLEL)


def test_invalid_numbers_of_processes_are_rejected() -> None:
    assert error_of(tiny("er", batch_size=3), 4).startswith("batch_size is 3, too small for 4 processes")
    assert error_of(tiny("er"), 0) == "processes is 0; it must be between 1 and 1024"


@pytest.mark.parametrize("device", ["cuda:1", "mps"])
def test_single_device_is_rejected(device: str) -> None:
    assert error_of(tiny("er", device=device)).startswith(f"device is {device}; several processes need cpu")


def test_more_processes_under_torchrun_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert error_of(tiny("er")) == "processes is 2, but torchrun started 8; omit it"


def test_one_process_needs_no_group(tmp_path: Path) -> None:
    with process_group(tiny("nearest")):
        finish(record(tiny("nearest"), tmp_path / "run"))


# Ranks


@pytest.fixture
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_environment")
def test_rank_info_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    info = RankInfo(
        rank=5, world_size=8, local_rank=1, local_world_size=4, host="node-1", port=29500, restart=2
    )
    for name, value in info.environment().items():
        monkeypatch.setenv(name, value)
    assert RankInfo.from_environment() == info


@pytest.mark.usefixtures("_environment")
def test_local_ranks_default_to_ranks() -> None:
    assert RankInfo.from_environment() == RankInfo(
        rank=5, world_size=8, local_rank=5, local_world_size=8, host="node-1", port=29500
    )


@pytest.mark.usefixtures("_environment")
@pytest.mark.parametrize("name", ENVIRONMENT)
def test_incomplete_environment_has_no_rank(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)
    assert RankInfo.from_environment() is None
    monkeypatch.setenv(name, ENVIRONMENT[name])
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert RankInfo.from_environment() is None


# Agreement


STEP, START = TrainStep(0, 0, 0, 1, 8), TaskStarted(0, (1, 2))


@pytest.fixture
def _second_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second rank that has received SIGTERM and has the same events."""
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    monkeypatch.setattr(distributed, "all_gather_ints", lambda *own: [own, (signal.SIGTERM, own[1])])


def test_one_process_stops_by_its_own_signal() -> None:
    assert agree_on_stop(STEP, signal.SIGINT) is signal.SIGINT
    assert agree_on_stop(STEP, None) is None
    assert agree_on_stop(START, signal.SIGINT) is None, "the run cannot be checkpointed here"
    assert agree_on_stop(RunEnded(1, ""), signal.SIGINT) is None


@pytest.mark.usefixtures("_second_rank")
def test_signal_of_any_rank_stops_all() -> None:
    assert agree_on_stop(STEP, None) is signal.SIGTERM
    assert agree_on_stop(START, None) is None


@pytest.mark.usefixtures("_second_rank")
def test_ranks_with_different_events_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "all_gather_ints", lambda *own: [own, (0, own[1] + 1)])
    with pytest.raises(RanksDisagree, match=r"have different results \(train-step\)"):
        agree_on_stop(STEP, None)
