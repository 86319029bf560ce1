"""Infinite dSprites in a minute: everything is played, and nothing but that can be learned from it."""

from collections.abc import Mapping
from typing import Any

from everlearn.papers.exhibit import Line, Scale

Settings = Mapping[str, Any]

ONE = (0,)

TINY = {
    "stream.image_size": 16,
    "stream.factor_values": 2,
    "stream.classes_per_task": 2,
    "evaluation.ahead": False,
    "evaluation.probe_size": 20,
    "batch_size": 16,
    "n_tasks": 3,
}
QUESTIONS = (
    ("oneshot", "--new", "2,4", "--size", "20"),
    ("openset", "--size", "20"),
    ("choice", "--choices", "2,4", "--trials", "5"),
)
NAMES = ("naive", "lwf", "ewc", "si", "contrastive", "l2p")
KEPT = {"er 1k": 4, "er 2k": 6, "er 5k": 8, "er 10k": 10, "er 20k": 12}
SHORT = {**TINY, "stream.classes_per_task": 3}
SHORTLY = {"er 500, short": 4, "er 2k, short": 8, "er 8k, short": 12}


def _folder(name: str) -> str:
    return f"smoke/{name.replace(', ', '-').replace(' ', '-')}"


def _keeping(name: str, learner: str, settings: Settings, size: int) -> Line:
    return Line(name, _folder(name), learner, {**settings, "learner.memory_size": size}, ONE)


SMOKE = Scale(
    "smoke",
    "For tests: 16 px, two classes a task, three tasks.",
    (
        Line("dcl", _folder("dcl"), "dcl", TINY, ONE),
        Line("dcl, 3 epochs", _folder("dcl, 3 epochs"), "dcl", {**TINY, "epochs": 3}, ONE),
        Line("dcl, 5 epochs", _folder("dcl, 5 epochs"), "dcl", {**TINY, "epochs": 5}, ONE),
        Line(
            "dcl, 200 tasks",
            _folder("dcl, 200 tasks"),
            "dcl",
            {**TINY, "n_tasks": 4},
            ONE,
            asks=QUESTIONS,
        ),
        *(Line(name, _folder(name), name, TINY, ONE) for name in NAMES),
        *(_keeping(name, "er", TINY, size) for name, size in KEPT.items()),
        _keeping("a-gem", "a-gem", TINY, 10),
        _keeping("der 5k", "der++", TINY, 10),
        *(_keeping(name, "er", SHORT, size) for name, size in SHORTLY.items()),
        Line("naive, short", _folder("naive, short"), "naive", SHORT, ONE),
        Line("joint, short", _folder("joint, short"), "joint", SHORT, ONE),
    ),
)
