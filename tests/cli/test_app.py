import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import everlearn
from everlearn.cli import main

from .outcomes import EVERLEARN, Run

HEAVY = {"torch", "numba", "matplotlib", "pydantic", "numpy", "PIL", "pyarrow"}


def test_help_names_the_commands(run: Run) -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert "stream" in out
    assert "--json" in out


def test_no_words_give_help(run: Run) -> None:
    assert run().out == run("--help").out


@pytest.mark.parametrize("words", [("--version",), ("stream", "--help"), ("stream", "show", "--help")])
def test_what_only_informs_succeeds(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).code == 0


def test_version(run: Run) -> None:
    assert run("--version").out.strip() == everlearn.__version__
    assert json.loads(run("--version", "--json").out) == {"version": everlearn.__version__}


@pytest.mark.parametrize(
    "words", [["--help"], ["stream", "--help"], ["stream", "export", "--help"], ["--version"]]
)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    """Start-up stays quick because of what is not imported, which can be counted on any machine."""
    code = f"import sys; from everlearn.cli import main; main({words}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stderr.split()
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert len(modules) < 400


def test_a_closed_pipe_is_no_drama() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([EVERLEARN, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_ctrl_c_is_quiet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("everlearn.cli.arguments.StreamChoice.build", interrupted)
    assert run("stream", "fingerprint") == (130, "", "")


def test_a_terminal_that_knows_only_ascii_gets_escapes() -> None:
    code = "from everlearn.cli import app, answer; app._survive_odd_encodings(); print('∞')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout == "\\u221e\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_installs_for_each_shell(spawn: Run, tmp_path: Path, shell: str) -> None:
    code, out, err = spawn("--install-completion", shell, "--json", HOME=str(tmp_path), ZSH="", ZSH_CUSTOM="")
    assert (code, err) == (0, "")
    script = Path(json.loads(out)["completion"])
    assert script.is_relative_to(tmp_path)
    assert {"fingerprint", "export"} <= set(re.findall(r"\w+", script.read_text()))


def test_bash_completes_a_command(spawn: Run, tmp_path: Path) -> None:
    script = json.loads(spawn("--install-completion", "bash", "--json", HOME=str(tmp_path)).out)["completion"]
    typed = "COMP_WORDS=(everlearn stream fi); COMP_CWORD=2"
    ask = f'source {script}; {typed}; _everlearn; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", ask], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert done.stdout.split() == ["fingerprint"], done.stderr


def test_an_unknown_shell_asks_for_its_name(spawn: Run) -> None:
    code, out, err = spawn("--install-completion", SHELL="/bin/odd", HOME="/nonexistent")
    assert (code, out) == (2, "")
    assert "name it: bash, zsh or fish" in err


def test_debug_shows_the_traceback(run: Run) -> None:
    with pytest.raises(ValueError, match="KEY=VALUE"):
        main(["stream", "fingerprint", "--set", "x", "--debug"])


def test_sigint_ends_with_130(tmp_path: Path) -> None:
    """A real Ctrl-C in the middle of a long export."""
    words = ["stream", "export", "--to", "npz", "--tasks", "0:100000", "-o", "out", "--image-size", "16"]
    hears = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # unlike tests that run in the background
    child = subprocess.Popen(
        [EVERLEARN, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=hears
    )
    try:
        while not list(tmp_path.rglob("*task*")) and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, err) == (130, "")
