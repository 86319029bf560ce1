"""Asked to stop, a run saves and goes, in whatever phase it is."""

import signal
from pathlib import Path

import pytest

from .harness import Server, tiny

PHASES = ("learning", "scoring", "making a task", "saving")
NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_saves_and_ends_the_run(
    server: Server, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    seldom = {} if phase == "saving" else {"save_every": 1000}
    stopped = server.run(folder, spec, signal_in=phase, signal=int(number), n_signals=1, **seldom)
    assert stopped["stopped"] == number.name
    assert len(list((folder / "checkpoint").glob("*.sha256"))) >= 1
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_second_signal_ends_it_at_once_and_loses_nothing(
    server: Server, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    spec, folder = tiny("er"), tmp_path / "run"
    ended = server.run(folder, spec, signal_in=phase, signal=int(number), n_signals=2)
    assert ended == {"code": -number}
    assert server.run(folder, spec)["digest"] == server.reference(tmp_path, spec)["digest"]
