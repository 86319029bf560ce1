import os
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from everlearn.runs.sweep.executors import Child


def wait_for(child: Child) -> None:
    while child.is_alive:
        time.sleep(0.02)


def test_its_last_sentence_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "everlearn.py").write_text("raise SystemExit('taken from the working folder')")
    monkeypatch.chdir(tmp_path)
    with closing(Child(["shwo", "records"], threads=1)) as child:
        wait_for(child)
        assert child.reason() == "unknown command 'shwo'; did you mean 'show'?"


def test_one_that_ends_well_says_nothing() -> None:
    with closing(Child(["--version"], threads=1)) as child:
        wait_for(child)
        assert child.reason() == "it ended with code 0 and said nothing"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, "it was ended by SIGKILL, as the system does when memory runs out"),
        (signal.SIGSEGV, "it was ended by SIGSEGV"),
    ],
)
def test_a_signal_is_a_reason(number: signal.Signals, reason: str) -> None:
    with closing(Child(["--version"], threads=1)) as child:
        os.kill(child.pid, number)
        wait_for(child)
        assert child.reason() == reason


def test_one_that_is_let_go_ends() -> None:
    with closing(Child(["--version"], threads=1)) as child:
        child.let_go()
        wait_for(child)
        assert child.reason() in ("it was ended by SIGTERM", "it ended with code 0 and said nothing")


def test_closing_ends_it_at_once() -> None:
    child = Child(["--version"], threads=1)
    child.close()
    assert not child.is_alive
