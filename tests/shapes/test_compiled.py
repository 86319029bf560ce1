import os
import subprocess
import sys
from pathlib import Path

CALLER = """
from everlearn.shapes.jit import compiled
from callee import answer

@compiled
def ask() -> int:
    return answer()

if __name__ == "__main__":
    import caller
    print(caller.ask())
"""
CALLEE = """
from everlearn.shapes.jit import compiled

@compiled
def answer() -> int:
    return {}
"""


def python(*arguments: str, cwd: Path) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cwd / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    for answer in ("41", "42"):
        (tmp_path / "callee.py").write_text(CALLEE.format(answer))
        assert python("caller.py", cwd=tmp_path) == answer


def test_importing_compiles_nothing_and_loads_no_torch(tmp_path: Path) -> None:
    script = "import sys, everlearn.shapes, everlearn.rendering; print('torch' in sys.modules)"
    assert python("-c", script, cwd=tmp_path) == "False"
    # Numba makes the folder when a function is defined; files appear only when one is compiled.
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
