import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "check_safety.py"

UNSAFE = [
    "import pickle",
    "from dill import loads",
    "import torch, cloudpickle.sub",
    "x = eval('1')",
    "exec(text)",
    "import yaml\nyaml.load(text)",
    "torch.load(path)",
    "torch.load(path, weights_only=False)",
    "numpy.load(path, allow_pickle=True)",
    "os.system('x')",
    "subprocess.run('x', shell=True)",
]
SAFE = [
    "import json",
    "torch.load(path, weights_only=True)",
    "model.eval()",
    "numpy.load(path, allow_pickle=False)",
    "re.compile('x')",
]


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("source", "code"), [*((text, 1) for text in UNSAFE), *((text, 0) for text in SAFE)])
def test_unsafe_code_is_reported(tmp_path: Path, source: str, code: int) -> None:
    (tmp_path / "module.py").write_text(source)
    said = run(tmp_path)
    assert said.returncode == code, said.stdout
    assert ("module.py:" in said.stdout) == bool(code)


def test_package_is_safe() -> None:
    assert run(ROOT / "src").returncode == 0, run(ROOT / "src").stdout
