"""Runs on a simulated GPU, and their records on a machine without one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.naive import Naive
from everlearn.memory import ExemplarMemory
from everlearn.networks.simulated_device import SimulatedDevice
from everlearn.runs import Diverged, InexactResume, Record, edit_memory, load_run, record, resume
from everlearn.runs.events import TaskEnded, TrainStep
from everlearn.runs.loop import run
from everlearn.runs.run_record import create_record

from .conftest import finish, run_until, tiny

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
MANY_BATCHES = {"batch_size": 1, "n_tasks": 2}


@contextmanager
def simulated_gpu() -> Iterator[SimulatedDevice]:
    with pytest.MonkeyPatch.context() as patch, SimulatedDevice("cuda") as gpu:
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "device_count", lambda: 1)
        patch.setattr(torch.cuda, "get_device_name", lambda device: "Simulated")
        yield gpu


def one_task_on_a_gpu(folder: Path, learner: str = "er", device: str = "cuda") -> Record:
    with simulated_gpu():
        events = record(tiny(learner, device=device), folder)
        run_until(events, lambda event: isinstance(event, TaskEnded))
    return Record(folder)


def test_auto_gives_the_results_of_the_device_it_finds() -> None:
    digests = {device: finish(run(tiny("er", device=device))).digest for device in ("auto", "cpu")}
    assert digests["auto"] == digests["cpu"]
    with simulated_gpu():
        assert finish(run(tiny("er"))).digest == finish(run(tiny("er", device="cuda"))).digest


def test_record_names_the_device_used_and_keeps_the_requested_one(tmp_path: Path) -> None:
    on_gpu = one_task_on_a_gpu(tmp_path / "a", device="auto")
    assert on_gpu.spec["device"] == "auto"
    found = {name: on_gpu.machine.get(name) for name in ("device", "gpu", "deterministic")}
    assert found == {"device": "cuda", "gpu": "Simulated", "deterministic": True}
    finish(record(tiny(n_tasks=1), tmp_path / "b"))
    assert Record(tmp_path / "b").machine["device"] == "cpu"
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_record_of_a_gpu_is_resumed_on_a_cpu(tmp_path: Path, device: str) -> None:
    saved = one_task_on_a_gpu(tmp_path / "a", device=device)
    with pytest.warns(InexactResume) as warned:
        finish(resume(tmp_path / "a"))
    assert any("device was cuda, is cpu" in str(each.message) for each in warned)
    assert saved.is_finished
    assert saved.machine["device"] == "cpu"
    assert not saved.is_exact


def test_record_of_a_gpu_is_opened_and_edited_on_a_cpu(tmp_path: Path) -> None:
    saved = one_task_on_a_gpu(tmp_path / "a", "dcl")
    with pytest.warns(InexactResume, match="there is no cuda here; the CPU is used instead"):
        learner = load_run(saved).learner
    images = np.zeros((1, 16, 16), np.uint8)
    assert learner.predict(images).shape == (1,)

    def forget(memory: ExemplarMemory) -> int:
        label = int(memory.labels[0])
        memory.forget(label)
        return label

    with pytest.warns(InexactResume):
        (event,) = edit_memory(saved, [("forget", forget)])
    assert event.n_images == 0


def test_new_run_needs_its_device(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="device is cuda, but torch finds no such device; use cpu or auto"):
        record(tiny(device="cuda"), tmp_path / "a")
    assert not (tmp_path / "a").exists()
    create_record(tmp_path / "b", tiny(device="cuda").to_json()).release()  # as a sweep does
    with pytest.raises(BadInput, match="device is cuda, but torch finds no such device"):
        resume(tmp_path / "b")


def test_losses_are_read_when_they_are_logged_and_none_is_lost() -> None:
    spec = tiny("naive", **MANY_BATCHES)
    on_cpu = list(run(spec))
    with simulated_gpu() as gpu:
        before, on_gpu = gpu.n_waits, []
        for event in run(spec):
            on_gpu.append(event)
            if isinstance(event, TrainStep) and not event.losses:
                assert gpu.n_waits == before
            before = gpu.n_waits
    steps = [event for event in on_gpu if isinstance(event, TrainStep)]
    assert [bool(step.losses) for step in steps] == [step.batch % 20 == 0 for step in steps]
    means = [
        [event.losses["loss"] for event in events if isinstance(event, TaskEnded)]
        for events in (on_cpu, on_gpu)
    ]
    assert means[0] == pytest.approx(means[1], rel=1e-3)


def test_gpu_run_continues_from_a_step_whose_losses_are_not_read(tmp_path: Path) -> None:
    spec = tiny("naive", **MANY_BATCHES)
    with simulated_gpu():
        finish(record(spec, tmp_path / "whole"))
        events = record(spec, tmp_path / "stopped")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("everlearn.runs.recorder.CHECKPOINT_INTERVAL", 0.0)  # after every step
            run_until(events, lambda event: isinstance(event, TrainStep) and event.batch == 7)
        finish(resume(tmp_path / "stopped"))
    assert Record(tmp_path / "stopped").digest == Record(tmp_path / "whole").digest


def test_divergence_is_found_and_names_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(self: Naive, batch: object) -> dict[str, object]:
        self.n_steps += 1
        return {"loss": torch.full((), 0.5 if self.n_steps != 6 else torch.nan, device=self.device)}

    monkeypatch.setattr(Naive, "learn", learn)
    with simulated_gpu(), pytest.raises(Diverged, match="loss became nan in task 0, epoch 0, batch 5;"):
        list(run(tiny("naive", **MANY_BATCHES)))


def test_mixed_precision_is_in_the_spec_only_if_it_is_on() -> None:
    assert "amp" not in tiny().to_mapping()
    spec = tiny("naive", amp=True, n_tasks=1)
    assert spec.to_mapping()["amp"] is True
    exact = tiny("naive", n_tasks=1)
    losses = [
        next(event.losses["loss"] for event in run(each) if isinstance(event, TaskEnded))
        for each in (spec, exact)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    assert losses[0] != losses[1]
