"""Asked to stop, a run saves and goes, in whatever phase it is; an export leaves all or nothing."""

import random
import signal
import time
from itertools import islice
from pathlib import Path

import pytest

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.runs import RunSpec, play
from everlearn.streams.exports import FORMATS, load

from .disks import checksum
from .harness import SEED, Ended, Server, tiny

PHASES = ("learning", "scoring", "making a task", "saving")
NUMBERS = (signal.SIGINT, signal.SIGTERM)
SOON = 5.0
"""Seconds within which a run must have saved and gone."""


def busy_with(phase: str) -> RunSpec:
    """A run in which a phase is met several times."""
    often = {"evaluation.inside_every": 1} if phase == "scoring" else {}
    return tiny("er", **often)


def check_saved_soon(ended: Ended, number: signal.Signals, folder: Path) -> None:
    """It stopped for the signal, said how to go on, and did not work for long after it.

    Processor time, because how long that takes on the clock depends on who else is using the machine.
    """
    assert ended["stopped"] == number.name
    assert ended["said"].endswith(f"saved; go on with `everlearn resume {folder}`")
    assert ended["cpu"] - ended["cpu_at"] < SOON
    assert list((folder / "checkpoint").glob("*.sha256"))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_saves_and_ends_the_run(
    server: Server, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    spec, folder = busy_with(phase), tmp_path / "run"
    seldom = {} if phase == "saving" else {"save_every": 1000}
    ended = server.run(folder, spec, signal_in=phase, signal=int(number), n_signals=1, **seldom)
    assert ended["hit"] == phase
    check_saved_soon(ended, number, folder)
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_second_signal_ends_it_at_once_and_loses_nothing(
    server: Server, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    spec, folder = busy_with(phase), tmp_path / "run"
    ended = server.run(folder, spec, signal_in=phase, signal=int(number), n_signals=2)
    assert ended["code"] == -number
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("task", [0, 1])
def test_a_step_that_never_ends_is_given_up(
    server: Server, tmp_path: Path, task: int, number: signal.Signals
) -> None:
    spec, folder = tiny("naive"), tmp_path / "run"
    ended = server.run(folder, spec, deaf_in=task, signal=int(number), patience=0.2)
    assert ended["stopped"] == number.name
    assert "inside a long step, which will be done again from the last checkpoint; go on" in ended["said"]
    assert ended["cpu"] - ended["cpu_at"] < SOON
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


def signal_at_random(server: Server, folder: Path, name: str, chance: random.Random) -> bool:
    """Whether the run was still there to hear it."""
    spec, number = tiny(name), chance.choice(NUMBERS)
    calm = server.reference(folder.parent, spec, save_every=1000)
    after = chance.uniform(0.001, calm["cpu"])
    ended = server.run(folder, spec, signal_after=after, signal=int(number), save_every=1000)
    if "stopped" in ended:
        check_saved_soon(ended, number, folder)
    assert server.run(folder, spec)["digest"] == calm["digest"]
    return "stopped" in ended


def test_five_signals_at_random_moments(server: Server, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    heard = (signal_at_random(server, tmp_path / str(i), "er", chance) for i in range(100))
    assert sum(islice(filter(None, heard), 5)) == 5


@pytest.mark.slow
def test_fifty_signals_at_random_moments(server: Server, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    names = ("dcl", "er", "naive", "nearest")
    heard = (signal_at_random(server, tmp_path / str(i), chance.choice(names), chance) for i in range(1000))
    assert sum(islice(filter(None, heard), 50)) == 50


@pytest.mark.slow
@pytest.mark.parametrize("name", learners.names())
def test_no_learner_is_deaf_for_long(name: str) -> None:
    """With images, batches and network as large as they are if nobody says otherwise."""
    list(play(tiny(name, n_tasks=1)))  # what is compiled once a machine is no part of a run
    heard, stretches = time.process_time(), []
    for event in play(RunSpec.make(learner=name, settings={"stream.factor_values": 2, "n_tasks": 1})):
        if event.safe:
            stretches.append(time.process_time() - heard)
            heard = time.process_time()
    assert max(stretches) < SOON


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("to", FORMATS)
def test_an_export_is_complete_or_absent(
    server: Server, tmp_path: Path, to: str, number: signal.Signals
) -> None:
    spec, folder = tiny("nearest"), tmp_path / "export"
    whole = server.run(tmp_path / "whole", spec, export=to)["fingerprint"]
    trouble = {"signal_in": "exporting", "signal": int(number), "n_signals": 1}
    assert server.run(folder, spec, export=to, **trouble)["code"] in (-number, 128 + number)
    with pytest.raises(BadInput, match="is an unfinished export; run the same export again to finish it"):
        load(folder)
    assert server.run(folder, spec, export=to)["fingerprint"] == whole == load(folder).fingerprint()
    assert checksum(folder) == checksum(tmp_path / "whole")
