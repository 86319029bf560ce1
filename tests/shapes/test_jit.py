import os
import subprocess
import sys
from pathlib import Path

CALLER = """
from everlearn.shapes.jit import compiled
from callee import value

@compiled
def call() -> int:
    return value()

if __name__ == "__main__":
    import caller
    print(caller.call())
"""
CALLEE = """
from everlearn.shapes.jit import compiled

@compiled
def value() -> int:
    return {}
"""


def python(*arguments: str, cwd: Path) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cwd / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_change_in_a_called_file_invalidates_the_cache(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    for value in ("41", "42"):
        (tmp_path / "callee.py").write_text(CALLEE.format(value))
        assert python("caller.py", cwd=tmp_path) == value


def test_import_compiles_nothing_and_does_not_load_torch(tmp_path: Path) -> None:
    script = "import sys, everlearn.shapes, everlearn.rendering; print('torch' in sys.modules)"
    assert python("-c", script, cwd=tmp_path) == "False"
    # Numba creates the folder when a function is defined, and files when one is compiled.
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
