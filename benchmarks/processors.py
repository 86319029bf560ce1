"""Kinds of processors: each has its own folder of results, which another kind never overwrites."""

import platform
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
REFERENCE = "amd-epyc"
"""The kind of the figures in README.md."""
CPU_INFO = Path("/proc/cpuinfo")
INSTRUCTIONS = {"avx512f": "avx512", "avx2": "avx2", "asimd": "neon"}
"""Vector instructions by the flag of a processor, the widest first."""


def processor(cpu_info: str | None = None) -> dict[str, Any]:
    """Name, family, model and vector instructions of this processor.

    Hypervisors give processors of different generations the same name, so the name does not suffice.
    """
    text = cpu_info if cpu_info is not None else CPU_INFO.read_text() if CPU_INFO.exists() else ""
    facts = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", text.split("\n\n")[0], re.MULTILINE))
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    return {
        "processor": facts.get("model name") or platform.processor() or platform.machine(),
        "family": facts.get("cpu family"),
        "model": facts.get("model"),
        "instructions": next((name for flag, name in INSTRUCTIONS.items() if flag in flags), None),
    }


def kind(facts: dict[str, Any]) -> str:
    """The name of a kind of processor, which is the folder of its results.

    Example:
        >>> kind({"processor": "AMD EPYC", "family": "25", "model": "17", "instructions": "avx512"})
        'amd-epyc-25-17-avx512'
    """
    words = " ".join(str(value) for value in facts.values() if value)
    return "-".join(re.findall(r"[a-z0-9]+", words.lower()))


def kinds() -> list[str]:
    """The kinds with results, the reference first."""
    found = sorted(path.name for path in RESULTS.iterdir() if path.is_dir())
    return sorted(found, key=lambda name: name != REFERENCE)
