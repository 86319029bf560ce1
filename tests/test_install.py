"""tools/install.py: which builds and versions are installed. Installing takes minutes; CI does it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import install  # noqa: E402


def test_cpu_build_without_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TORCH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.backend() == "cpu"


@pytest.mark.parametrize(("exit_code", "build"), [(0, "cuda"), (9, "cpu")])
def test_gpu_is_found_by_its_tool(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exit_code: int, build: str
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    tool.chmod(0o755)
    monkeypatch.delenv("TORCH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.backend() == build


def test_unknown_build_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "tools" / "install.py", tmp_path / "venv"]
    done = subprocess.run(command, env={"TORCH": "tpu"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (1, "TORCH is 'tpu'; it must be cpu or cuda")
    assert not list(tmp_path.iterdir())


def test_announcement_says_what_is_downloaded() -> None:
    line = install.announcement("torch==2.13.0", "cpu", [], "into .venv with pip")
    assert line.startswith(
        "Installing everlearn, torch==2.13.0 (cpu build) and about 36 other packages into .venv"
    )
    assert " with pip: 310 MB to download" in line
    assert "with ray, dev" in install.announcement(
        "torch==2.13.0", "cpu", ["ray", "dev"], "into .venv with uv"
    )
    assert " 2.8 GB to download" in install.announcement("torch==2.13.0", "cuda", [], "into .venv with uv")


def test_groups_include_others() -> None:
    requirements = set(install.group("dev"))
    assert {"pytest", "mypy", "nbclient"} <= requirements
    assert not requirements & {"ray", "twine"}


def test_users_get_no_test_tools() -> None:
    needed = install.project()["project"]["dependencies"]
    assert not any(name in each for name in ("pytest", "ray", "mypy", "fastapi") for each in needed)


def test_extras_named_in_messages_exist() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"everlearn\[(\w+)\]", text)}
    assert {"ray", "studio"} <= named <= set(install.project()["project"]["optional-dependencies"])


def test_every_direct_dependency_has_a_lowest_version() -> None:
    names = {each.partition(">=")[0] for each in install.project()["project"]["dependencies"]}
    assert {each.partition("==")[0] for each in install.lowest()} == names - {"torch"}


def test_lock_file_has_exact_versions_and_the_pinned_torch() -> None:
    lines = [line for line in install.LOCK.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert all("==" in line and "+" not in line for line in lines)
    assert install.pinned_torch(install.LOCK) == install.pinned_torch(ROOT / "constraints.txt")
