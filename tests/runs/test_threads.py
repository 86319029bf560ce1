import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from everlearn.blas import openblas
from everlearn.rendering.render import available_cpus
from everlearn.runs import Record, RunSpec, RunState, record, resume, threads
from everlearn.runs.threads import fastest, torch_threads
from everlearn.serialization import digest

SMALL = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2, "evaluation.n_images": 10}


def spec(learner: str = "naive", **settings: int) -> RunSpec:
    return RunSpec.make(learner=learner, settings={**SMALL, **settings})


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a user, without the variable that tests set."""
    monkeypatch.delenv("OMP_NUM_THREADS")


@pytest.mark.usefixtures("unlimited")
def test_small_network_gets_one_thread() -> None:
    with torch_threads(2):
        assert RunState(spec()).threads == 1


@pytest.mark.usefixtures("unlimited")
def test_large_network_is_measured_without_being_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SMALL_BYTES", 0)
    run = RunState(spec())
    before = digest(run.state())
    assert run.threads in (1, 2, available_cpus())
    assert digest(run.state()) == before


def test_matrix_products_of_numpy_use_as_many_threads() -> None:
    numbers = [get() for get, _ in openblas()]
    with torch_threads(1):
        assert all(get() == 1 for get, _ in openblas())
    assert [get() for get, _ in openblas()] == numbers


@pytest.mark.parametrize(
    ("seconds", "chosen"), [({1: 8, 2: 5, 4: 3}, 4), ({1: 8, 2: 5, 4: 4}, 2), ({1: 1}, 1)]
)
def test_threads_are_doubled_while_it_pays(seconds: dict[int, int], chosen: int) -> None:
    now = [0.0]

    def work() -> None:
        now[0] += seconds.get(torch.get_num_threads(), 9)

    assert fastest(work, limit=7, clock=lambda: now[0]) == chosen


def test_number_that_was_chosen_outside_is_kept() -> None:
    with torch_threads(3):  # as OMP_NUM_THREADS=3 does when torch is loaded
        assert RunState(spec()).threads == 3


@pytest.mark.usefixtures("unlimited")
def test_number_is_recorded_kept_when_resumed_and_reset(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    events = record(spec(threads=2), tmp_path / "record")
    while next(events).kind != "task-ended":
        assert torch.get_num_threads() == 2
    events.close()
    assert Record(tmp_path / "record").machine["threads"] == 2
    assert list(resume(tmp_path / "record"))  # would warn of an inexact result
    assert torch.get_num_threads() == before


@pytest.mark.usefixtures("unlimited")
@pytest.mark.skipif(available_cpus() < 2, reason="one processor")
def test_resumed_run_without_a_number_in_its_spec_keeps_that_of_its_record() -> None:
    assert RunState(spec(), threads=2).threads == 2
    assert RunState(spec(), threads=100_000).threads == 1  # more than this machine has


def test_spec_without_threads_keeps_its_hash() -> None:
    assert "threads" not in spec().to_mapping()
    assert RunSpec.from_json(spec(threads=2).to_json()).threads == 2


def test_threads_sleep_while_they_wait_unless_the_user_chose_otherwise() -> None:
    code = "import os, everlearn; print(os.environ['OMP_WAIT_POLICY'])"
    for given, expected in (({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")):
        environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected
