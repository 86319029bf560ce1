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
from everlearn.cli.app import COMMANDS

from .outcomes import EVERLEARN, Run

HEAVY = {"torch", "numba", "matplotlib", "pydantic", "numpy", "PIL", "pyarrow"}
COUNT = """
import json, sys
from everlearn.cli import main
code = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def imported_modules(*words: str, cwd: Path, code: str = COUNT) -> set[str]:
    """Modules that a command imports."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize(
    "words",
    [["--help"], ["run", "--help"], ["stream", "export", "--help"], ["evaluate", "--help"], ["--version"]],
)
def test_help_imports_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    """Imports are counted instead of seconds, which depend on the machine."""
    modules = imported_modules(*words, cwd=tmp_path)
    assert not HEAVY & packages(modules)
    assert len(modules) < 400


@pytest.mark.parametrize("words", [["learners"], ["stream", "list"], ["list"], ["show", "records/dcl"]])
def test_lists_import_neither_torch_nor_numba(words: list[str], records: Path) -> None:
    assert not {"torch", "numba", "matplotlib"} & packages(imported_modules(*words, cwd=records.parent))


def test_run_imports_few_modules(tmp_path: Path) -> None:
    """Less than half of the 196 modules that it imported once."""
    small = ("--tasks", "1", "--image-size", "16", "--factor-values", "2", "--record", "record")
    modules = imported_modules("run", "--learner", "er", *small, cwd=tmp_path)
    assert "matplotlib" not in modules
    assert sum(name.partition(".")[0] == "everlearn" for name in modules) < 98


def test_no_help_imports_torch_numba_or_matplotlib(tmp_path: Path) -> None:
    """One process asks for the help of every command, so that what any of them imports is found."""
    code = COUNT.replace(
        "main(sys.argv[1:])", "max(main([*name.split(), '--help']) for name in sys.argv[1:])"
    )
    modules = imported_modules(*COMMANDS, "evaluate open-set", cwd=tmp_path, code=code)
    assert not {"torch", "numba", "matplotlib", "scipy"} & packages(modules)


def test_help_lists_commands_and_options(run: Run) -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert {"stream", "run", "sweep", "--json", "--debug"} <= set(re.findall(r"[\w-]+", out))
    assert run().out == out


def test_version(run: Run) -> None:
    assert run("--version").out.strip() == everlearn.__version__
    assert run("--version", "--json").data == {"version": everlearn.__version__}


def test_closed_pipe_ends_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([EVERLEARN, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_keyboard_interrupt_ends_quietly(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("everlearn.cli.arguments.StreamChoice.build", interrupt)
    assert run("stream", "fingerprint") == (130, "", "")


def test_sigint_during_an_export_ends_with_130(tmp_path: Path) -> None:
    words = ["stream", "export", "--to", "npz", "--tasks", "0:100000", "-o", "out", "--image-size", "16"]
    restore = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # ignored in background test processes
    child = subprocess.Popen(
        [EVERLEARN, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=restore
    )
    try:
        while not list(tmp_path.rglob("*task*")) and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, err) == (130, "")


def test_ascii_terminal_gets_escapes() -> None:
    code = "from everlearn.cli import app; app._escape_unencodable(); print('∞')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "\\u221e\n"


def test_debug_shows_the_traceback(run: Run) -> None:
    with pytest.raises(ValueError, match="KEY=VALUE"):
        main(["stream", "fingerprint", "--set", "x", "--debug"])


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_is_installed(spawn: Run, tmp_path: Path, shell: str) -> None:
    outcome = spawn("--install-completion", shell, "--json", HOME=str(tmp_path), ZSH="", ZSH_CUSTOM="")
    script = Path(outcome.data["completion"])
    assert script.is_relative_to(tmp_path)
    assert {"fingerprint", "export"} <= set(re.findall(r"\w+", script.read_text()))


def test_bash_completes_a_command(spawn: Run, tmp_path: Path) -> None:
    script = spawn("--install-completion", "bash", "--json", HOME=str(tmp_path)).data["completion"]
    typed = "COMP_WORDS=(everlearn stream fi); COMP_CWORD=2"
    complete = f'source {script}; {typed}; _everlearn; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", complete], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert done.stdout.split() == ["fingerprint"], done.stderr


def test_unknown_shell_is_an_error(spawn: Run) -> None:
    code, out, err = spawn("--install-completion", SHELL="/bin/odd", HOME="/nonexistent")
    assert (code, out) == (2, "")
    assert "name it: bash, zsh or fish" in err
