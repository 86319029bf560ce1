"""Install everlearn and what it needs: python tools/install.py VENV [--extras a,b] [--groups c,d].

Versions are those of requirements.lock; --constraints FILE selects another file, --lowest the lowest allowed
versions. Linux gets the CPU build of torch unless there is an NVIDIA GPU or the variable TORCH is `cuda`: the
default build comes with 2.7 GB of CUDA libraries. Uses uv if it is installed, otherwise pip.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
MIN_PYTHON = (3, 11)
CPU, CUDA = "cpu", "cuda"
BASE = (36, 120)
"""Packages besides torch, and megabytes to download; all numbers are from Linux with Python 3.11."""
SIZES = {
    "avalanche": (51, 100), "bench": (12, 120), "dev": (69, 175), "dist": (33, 10), "docs": (27, 25),
    "export": (1, 55), "metrics": (1, 10), "ray": (14, 80), "slurm": (2, 1), "studio": (13, 6),
    "test": (31, 130),
}  # fmt: skip
TORCH_MB = {CPU: 190, CUDA: 2700}
NO_TORCH = (
    "torch could not be installed; let PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS name a place with CPU builds, "
    "or run `TORCH=cuda make ...` for the default build"
)


def project() -> dict[str, Any]:
    """The content of pyproject.toml."""
    import tomllib  # not in the versions of Python that `main` refuses

    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def group(name: str) -> Iterator[str]:
    """Requirements of a dependency group and of those that it includes; older versions of pip read none."""
    for each in project()["dependency-groups"][name]:
        yield from group(each["include-group"]) if isinstance(each, dict) else [each]


def lowest() -> list[str]:
    """The lowest allowed version of each direct dependency but torch, whose old builds are large."""
    bounds = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", each) for each in project()["project"]["dependencies"]]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound and bound[1] != "torch"]


def pinned_torch(versions: Path) -> str:
    """The requirement for torch in a file of versions."""
    found = re.search(r"^torch==\S+$", versions.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{versions} names no version of torch; add a line torch==VERSION")
    return found[0]


def backend() -> str:
    """The build of torch to install: that in the variable TORCH, otherwise `cuda` if there is a GPU."""
    given = os.environ.get("TORCH") or (CUDA if _has_gpu() else CPU)
    if given not in TORCH_MB:
        raise SystemExit(f"TORCH is {given!r}; it must be cpu or cuda")
    return given


def _has_gpu() -> bool:
    tool = shutil.which("nvidia-smi")
    return tool is not None and subprocess.run([tool, "-L"], capture_output=True).returncode == 0  # noqa: S603


def announcement(torch: str, build: str, parts: Sequence[str], where: str) -> str:
    """One line: what will be downloaded."""
    sizes = [BASE, *(SIZES.get(part, (1, 10)) for part in parts)]
    n, size = sum(count for count, _ in sizes), TORCH_MB[build] + sum(mb for _, mb in sizes)
    amount = f"{size / 1000:.1f} GB" if size >= 1000 else f"{size} MB"
    more = f" with {', '.join(parts)}" if parts else ""
    what = f"everlearn{more}, {torch} ({build} build) and about {n} other packages"
    return f"Installing {what} {where}: {amount} to download, unless cached"


class Installer:
    """Installs requirements into an environment, with uv or pip."""

    def __init__(self, where: Path) -> None:
        self.python = where / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        self.uv = shutil.which("uv")
        if not self.python.exists():
            try:
                venv.create(where, with_pip=True)
            except subprocess.CalledProcessError:
                raise SystemExit(
                    "Python has no pip for new environments; install python3-venv, then repeat"
                ) from None

    @property
    def name(self) -> str:
        """The tool that is used."""
        return "uv" if self.uv else "pip"

    def install(self, *arguments: str, quiet: bool = False) -> bool:
        """Install requirements; whether that worked."""
        tool = [self.uv, "pip"] if self.uv else [self.python, "-m", "pip", "--disable-pip-version-check"]
        where = ["--python", self.python] if self.uv else []
        links = os.environ.get("PIP_FIND_LINKS", "").replace(" ", ",")  # uv does not read settings of pip
        environment = {**({"UV_FIND_LINKS": links} if links else {}), **os.environ}
        command = [*tool, "install", *where, "-q" if self.uv else "-qq", *arguments]  # both print errors
        return subprocess.run(command, env=environment, capture_output=quiet).returncode == 0  # noqa: S603

    def install_torch(self, version: str, build: str) -> bool:
        """Install a version of torch as this build."""
        if build == CUDA and self.uv:
            return self.install("--torch-backend", "auto", version)
        if build == CUDA or not sys.platform.startswith("linux"):  # elsewhere there is only one build
            return self.install(version)
        if self.install(f"{version}+cpu", quiet=True):  # from PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL
            return True
        if self.uv is None:
            print("pip finds no CPU build of torch; uv does", flush=True)
            if not self.install("uv"):
                return False
            self.uv = str(self.python.with_name("uv"))
        return self.install("--torch-backend", CPU, version)


def main(words: Sequence[str] | None = None) -> int:
    """Install, after one line that says what will be downloaded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--extras", default="")
    parser.add_argument("--groups", default="")
    parser.add_argument("--constraints", type=Path, default=LOCK)
    parser.add_argument("--lowest", action="store_true")
    given = parser.parse_args(words)
    if sys.version_info < MIN_PYTHON:
        found = sys.version.partition(" ")[0]
        raise SystemExit(
            f"everlearn needs Python 3.11 or newer, this is {found}; try `make demo PYTHON=python3.12`"
        )
    extras, groups = ([each for each in text.split(",") if each] for text in (given.extras, given.groups))
    torch, build = pinned_torch(given.constraints), backend()
    installer = Installer(given.venv)
    where = f"into {given.venv} with {installer.name}"
    print(announcement(torch, build, [*extras, *groups], where), flush=True)
    if not installer.install_torch(torch, build):
        print(NO_TORCH)
        return 1
    requirements = [each for name in groups for each in group(name)]
    versions = lowest() if given.lowest else ["--constraint", str(given.constraints)]
    package = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    return 0 if installer.install(*versions, "--editable", package, *requirements) else 1


if __name__ == "__main__":
    raise SystemExit(main())
