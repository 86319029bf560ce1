import os
import stat
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Capacity, executors
from everlearn.runs.sweep.executors import LocalExecutor
from everlearn.runs.sweep.gpus import GPUs, available_gpus

LIST = "GPU 0: Simulated (UUID: GPU-1)\nGPU 1: Simulated (UUID: GPU-2)\n"


def test_gpus_are_those_of_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert available_gpus() == []
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{LIST}'\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    assert available_gpus() == ["0", "1"]


@pytest.mark.parametrize(("visible", "expected"), [("", []), ("3", ["3"]), ("0, GPU-7a", ["0", "GPU-7a"])])
def test_visible_gpus_are_respected(
    visible: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert available_gpus() == expected


@pytest.mark.parametrize(
    ("share", "slots", "expected"),
    [
        (1, 3, ["0", "1", "2", None]),
        (0.5, 6, ["0", "1", "2", "0", "1", "2", None]),
        (0.4, 6, ["0", "1", "2", "0", "1", "2", None]),
        (2, 1, ["0,1", None]),
        (3, 1, ["0,1,2", None]),
    ],
)
def test_gpus_are_assigned_evenly(share: float, slots: int, expected: list[str | None]) -> None:
    gpus, in_use = GPUs(["0", "1", "2"], share), list[str]()
    for chosen in expected:
        assert gpus.choose(in_use) == chosen
        in_use.append(chosen or "")
    assert gpus.slots == slots


@pytest.mark.parametrize(("share", "message"), [(4, "this machine has 3 GPUs"), (1.5, "use a whole number")])
def test_impossible_shares_are_rejected(share: float, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        GPUs(["0", "1", "2"], share)


class Sleeper:
    """A child process that is not started."""

    pid = 2**22 + 1
    is_alive = True

    def __init__(self, command: object, *, threads: int, environment: dict[str, str]) -> None:
        self.gpus = environment.get("CUDA_VISIBLE_DEVICES")


def test_running_children_have_different_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    monkeypatch.setattr(executors, "ChildProcess", Sleeper)
    executor = LocalExecutor(Capacity(workers=8, memory=0, gpus=1))
    assert executor.workers == 2
    first, second = executor.start(["resume", "a"]), executor.start(["resume", "b"])
    assert (first.gpus, second.gpus) == ("4", "7")
    assert not executor.has_capacity()
    first.is_alive = False
    assert executor.start(["evaluate", "open-set", "a"]).gpus == "4", "of the one that has ended"


def test_gpus_are_not_assigned_without_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "ChildProcess", Sleeper)
    executor = LocalExecutor(Capacity(workers=8, memory=0))
    assert executor.start(["resume", "a"]).gpus is None
    assert executor.workers == 8
    assert os.environ.get("CUDA_VISIBLE_DEVICES") != "4"
