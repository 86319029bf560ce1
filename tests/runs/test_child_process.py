import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from everlearn.runs.child_process import ChildProcess

CHILD = """
import runpy, signal, sys, time
from everlearn.runs import child_main
child_main.STOP_TIMEOUT = 0.1
runpy.run_module = lambda *arguments, **options: (print("running", flush=True), time.sleep(1000))
if "ignores-sigterm" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child_main.main()
"""
NO_MESSAGE = "exit code 0 without a message"


def test_error_is_the_last_line_of_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "everlearn.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    with closing(ChildProcess(["shwo", "records"], threads=1)) as child:
        assert child.wait() == child.exit_code == 2
        assert child.error() == "unknown command 'shwo'; did you mean 'show'?"


def test_success_has_no_message() -> None:
    with closing(ChildProcess(["--version"])) as child:
        assert child.wait() == 0
        assert child.error() == NO_MESSAGE


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGKILL, "terminated by SIGKILL (the system may have run out of memory)"),
        (signal.SIGSEGV, "terminated by SIGSEGV"),
    ],
)
def test_error_names_the_signal(number: signal.Signals, error: str) -> None:
    with closing(ChildProcess(["--version"])) as child:
        os.kill(child.pid, number)
        child.wait()
        assert child.error() == error


def test_terminated_child_ends() -> None:
    with closing(ChildProcess(["--version"])) as child:
        child.terminate()
        child.wait()
        assert child.error() in ("terminated by SIGTERM", NO_MESSAGE)


def test_close_kills_the_child() -> None:
    child = ChildProcess(["--version"])
    assert child.wait(timeout=0.0) is None
    child.close()
    assert not child.is_alive


def test_detached_child_has_no_pipe_to_its_parent() -> None:
    with closing(ChildProcess(["--version"], detached=True)) as child:
        child.terminate()
        assert child.wait() == 0


@pytest.mark.parametrize(
    ("kind", "ended_by"), [("obeys-sigterm", signal.SIGTERM), ("ignores-sigterm", signal.SIGKILL)]
)
def test_child_ends_when_its_stdin_is_closed(kind: str, ended_by: signal.Signals) -> None:
    command = [sys.executable, "-c", CHILD, kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "running\n"
        child.stdin.close()
        assert child.wait() == -ended_by
