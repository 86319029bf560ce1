"""What groups of runs are called: in full where there is room, as short as can be beside a line."""

from collections.abc import Mapping, Sequence
from typing import Any

from everlearn.reports.findings import Findings
from everlearn.runs.differences import flat

SEEDS = ("seed", "stream.seed")
ASKED_FIRST = ("learner", "edits", "tasks", "epochs", "batch_size", "stream")
LONGEST = 28
"""Characters of a name that people gave, beside a line."""

Settings = Mapping[str, Any]


def full_names(samples: Sequence[Sequence[Findings]]) -> list[str]:
    """Each learner's name, with all settings that set it apart from the others, after what people call it."""
    specs = [settings(runs[0]) for runs in samples]
    names = []
    for spec, runs in zip(specs, samples, strict=True):
        told = [name for name in spec if name not in SEEDS and _differs(name, _comparable(name, spec, specs))]
        given = _given(runs)
        names.append((f"{given}: " if given else "") + _said(spec, told))
    return names


def short_names(samples: Sequence[Sequence[Findings]]) -> list[str]:
    """What people call it, or else the learner with no more settings than tell it from its namesakes."""
    specs, given = [settings(runs[0]) for runs in samples], [_given(runs) for runs in samples]
    names = []
    for spec, own in zip(specs, given, strict=True):
        namesakes = [other for other in specs if other["learner.name"] == spec["learner.name"]]
        plain = _said(spec, _telling(namesakes))
        names.append(_cut(own) if own and given.count(own) == 1 else plain)
    return names


def settings(run: Findings) -> dict[str, Any]:
    """All that may tell a run from another, by dotted names, with the tasks that were really played."""
    spec = {name: value for name, value in flat(run.record.spec).items() if name != "n_tasks"}
    return {**spec, "tasks": run.n_tasks, "edits": len(run.edits)}


def _telling(specs: Sequence[Settings]) -> list[str]:
    """A few settings that together tell all of these apart, the most telling first."""
    chosen: list[str] = []
    names = [name for name in sorted(specs[0], key=_weight) if name not in SEEDS and _differs(name, specs)]
    while len(_kinds(chosen, specs)) < len(_kinds(names, specs)):
        chosen.append(max(names, key=lambda name: len(_kinds([*chosen, name], specs))))
    return chosen


def _weight(name: str) -> int:
    """What people ask about first: the learner, how long, what it met; last how it was judged."""
    part = name.partition(".")[0]
    return ASKED_FIRST.index(part) if part in ASKED_FIRST else len(ASKED_FIRST)


def _kinds(names: Sequence[str], specs: Sequence[Settings]) -> set[str]:
    return {str([spec[name] for name in names]) for spec in specs}


def _comparable(name: str, spec: Settings, specs: Sequence[Settings]) -> list[Settings]:
    """A learner's own settings are compared with those of its namesakes, all others with everybody's."""
    is_own = name.startswith("learner.")
    return [other for other in specs if not is_own or other["learner.name"] == spec["learner.name"]]


def _differs(name: str, specs: Sequence[Settings]) -> bool:
    """Whether a setting that all of them have is not the same in all."""
    return all(name in spec for spec in specs) and any(spec[name] != specs[0][name] for spec in specs)


def _said(spec: Settings, names: Sequence[str]) -> str:
    return ", ".join([spec["learner.name"], *(_setting(name, spec[name]) for name in names)])


def _setting(name: str, value: Any) -> str:
    return str(value) if name == "stream.stream" else f"{name.rpartition('.')[2]} {value}"


def _given(runs: Sequence[Findings]) -> str:
    """The name that people gave to all of these runs alike, if they did."""
    names = {run.record.name for run in runs}
    return names.pop() if len(names) == 1 else ""


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
