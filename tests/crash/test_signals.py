"""A stop signal saves and ends a run in any phase; an export is complete or absent."""

import random
import signal
import time
from itertools import islice
from pathlib import Path

import pytest

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.runs import RunSpec, run
from everlearn.streams.exports import FORMATS, load

from .disks import checksum
from .harness import SEED, Ended, Server, tiny

PHASES = ("training", "evaluation", "rendering", "saving")
NUMBERS = (signal.SIGINT, signal.SIGTERM)
MAX_SECONDS = 5.0
"""CPU seconds within which a run must have ended."""


def spec_for(phase: str) -> RunSpec:
    """A run that is in a phase several times."""
    often = {"evaluation.every_n_batches": 1} if phase == "evaluation" else {}
    return tiny("er", **often)


def check_saved(ended: Ended, number: signal.Signals, folder: Path) -> None:
    """It stopped by the signal, soon, and with a checkpoint.

    CPU time, because wall-clock time depends on other processes.
    """
    assert ended["stopped"] == number.name
    assert ended["message"].endswith(f"saved; continue with `everlearn resume {folder}`")
    assert ended["cpu"] - ended["cpu_at"] < MAX_SECONDS
    assert list((folder / "checkpoint").glob("*.sha256"))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("phase", PHASES)
def test_signal_saves_and_ends_the_run(
    server: Server, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    spec, folder = spec_for(phase), tmp_path / "run"
    rarely = {} if phase == "saving" else {"save_every": 1000}
    ended = server.run(folder, spec, signal_in=phase, signal=int(number), n_signals=1, **rarely)
    assert ended["hit"] == phase
    check_saved(ended, number, folder)
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("phase", PHASES)
def test_second_signal_ends_the_run_immediately(
    server: Server, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    spec, folder = spec_for(phase), tmp_path / "run"
    ended = server.run(folder, spec, signal_in=phase, signal=int(number), n_signals=2)
    assert ended["code"] == -number
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("task", [0, 1])
def test_endless_step_is_interrupted(
    server: Server, tmp_path: Path, task: int, number: signal.Signals
) -> None:
    spec, folder = tiny("naive"), tmp_path / "run"
    ended = server.run(folder, spec, endless_step_in=task, signal=int(number), step_timeout=0.2)
    assert ended["stopped"] == number.name
    assert "within a long step, which will be repeated from the last checkpoint" in ended["message"]
    assert ended["cpu"] - ended["cpu_at"] < MAX_SECONDS
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


def is_stopped_at_random(server: Server, folder: Path, name: str, rng: random.Random) -> bool:
    """Whether the run received the signal before its end."""
    spec, number = tiny(name), rng.choice(NUMBERS)
    expected = server.reference(folder.parent, spec, save_every=1000)
    after = rng.uniform(0.001, expected["cpu"])
    ended = server.run(folder, spec, signal_after=after, signal=int(number), save_every=1000)
    if "stopped" in ended:
        check_saved(ended, number, folder)
    assert server.run(folder, spec)["digest"] == expected["digest"]
    return "stopped" in ended


def check_random_signals(server: Server, tmp_path: Path, names: tuple[str, ...], n: int) -> None:
    rng = random.Random(SEED)
    stopped = (is_stopped_at_random(server, tmp_path / str(i), rng.choice(names), rng) for i in range(20 * n))
    assert sum(islice(filter(None, stopped), n)) == n


def test_five_signals_at_random_times(server: Server, tmp_path: Path) -> None:
    check_random_signals(server, tmp_path, ("er",), 5)


@pytest.mark.slow
def test_fifty_signals_at_random_times(server: Server, tmp_path: Path) -> None:
    check_random_signals(server, tmp_path, ("dcl", "er", "naive", "nearest"), 50)


@pytest.mark.slow
@pytest.mark.parametrize("name", learners.names())
def test_steps_of_every_learner_are_short(name: str) -> None:
    """With default sizes of images, batches and networks."""
    list(run(tiny(name, n_tasks=1)))  # compiles
    last, durations = time.process_time(), []
    for event in run(RunSpec.make(learner=name, settings={"stream.factor_values": 2, "n_tasks": 1})):
        if event.checkpointable:
            durations.append(time.process_time() - last)
            last = time.process_time()
    assert max(durations) < MAX_SECONDS


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("to", FORMATS.names())
def test_interrupted_export_is_complete_or_absent(
    server: Server, tmp_path: Path, to: str, number: signal.Signals
) -> None:
    spec, folder = tiny("nearest"), tmp_path / "export"
    expected = server.run(tmp_path / "complete", spec, export=to)["fingerprint"]
    fault = {"signal_in": "exporting", "signal": int(number), "n_signals": 1}
    assert server.run(folder, spec, export=to, **fault)["code"] in (-number, 128 + number)
    with pytest.raises(BadInput, match="unfinished export"):
        load(folder)
    assert server.run(folder, spec, export=to)["fingerprint"] == expected == load(folder).fingerprint()
    assert checksum(folder) == checksum(tmp_path / "complete")
