"""Whether all nodes see the folders into which is written: tried, not believed."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from everlearn import files
from everlearn.errors import BadInput

PATIENCE = 60.0
"""Seconds in which every node must have answered."""
ALIKE = ("everlearn", "torch", "numpy")
"""What must be the same everywhere, lest runs end differently."""


def check_shared(ray: ModuleType, nodes: Iterable[Mapping[str, Any]], folders: Sequence[Path]) -> None:
    """Complain unless every node finds in each folder what we put there, and we what it puts there."""
    word = secrets.token_hex(8)
    probes = [folder / f".probe-{word}" for folder in folders]
    try:
        for probe in probes:
            files.write(probe, word.encode())
        asked = [(node, _ask(ray, node, probes)) for node in nodes]
        for node, reference in asked:
            _check(node, _heard(ray, node, reference), probes)
    finally:
        for path in (path for probe in probes for path in probe.parent.glob(f"{probe.name}*")):
            path.unlink(missing_ok=True)


def answer(probes: Sequence[str], node: str) -> dict[str, str]:
    """On a node: answer each probe that is seen, and tell with what one would be working here."""
    for probe in filter(Path.is_file, map(Path, probes)):
        _answered(probe, node).write_bytes(probe.read_bytes())
    return _versions()


def _ask(ray: ModuleType, node: Mapping[str, Any], probes: Sequence[Path]) -> Any:
    pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    there = pinned(node_id=node["NodeID"], soft=False)
    ask = ray.remote(answer).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
    return ask.remote([str(probe) for probe in probes], node["NodeID"])


def _heard(ray: ModuleType, node: Mapping[str, Any], reference: Any) -> Mapping[str, str]:
    try:
        versions: Mapping[str, str] = ray.get(reference, timeout=PATIENCE)
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines()[-1]
        raise BadInput(
            f"the node {_name(node)} can do nothing for everlearn ({said:.200}); "
            "install the same everlearn there, and let it write where this machine does"
        ) from None
    return versions


def _check(node: Mapping[str, Any], versions: Mapping[str, str], probes: Sequence[Path]) -> None:
    for what, here in _versions().items():
        if versions[what] != here:
            raise BadInput(
                f"the node {_name(node)} has {what} {versions[what]} and this machine {here}; "
                "install the same everywhere"
            )
    for probe in probes:
        answered = _answered(probe, node["NodeID"])
        if not answered.is_file() or answered.read_bytes() != probe.read_bytes():
            raise BadInput(
                f"the node {_name(node)} does not see the folder {probe.parent} as this machine does; "
                "choose one on storage that all nodes share"
            )


def _versions() -> dict[str, str]:
    return {what: version(what) for what in ALIKE}


def _answered(probe: Path, node: str) -> Path:
    return probe.with_name(f"{probe.name}-{node}")


def _name(node: Mapping[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
