import signal
import subprocess
import sys

import pytest

CHILD = """
import runpy, signal, sys, time
from everlearn.runs.sweep import leash
leash.GRACE = 0.1
runpy.run_module = lambda *words, **how: (print("at work", flush=True), time.sleep(1000))
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
leash.main()
"""


@pytest.mark.parametrize(("kind", "ended_by"), [("obedient", signal.SIGTERM), ("stubborn", signal.SIGKILL)])
def test_whoever_is_let_go_is_asked_to_end_and_then_ended(kind: str, ended_by: signal.Signals) -> None:
    words = [sys.executable, "-c", CHILD, kind]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "at work\n"
        child.stdin.close()
        assert child.wait() == -ended_by
