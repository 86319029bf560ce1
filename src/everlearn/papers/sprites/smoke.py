"""Infinite dSprites in a minute: everything is played, and nothing but that can be learned from it."""

from everlearn.papers.exhibit import Line, Scale

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
NAMES = ("naive", "lwf", "ewc", "si", "joint", "contrastive", "l2p")
KEEPING = {"a-gem": "a-gem", "der 5k": "der++", **{f"er {size}k": "er" for size in (1, 2, 5, 10, 20)}}


def _folder(name: str) -> str:
    return f"smoke/{name.replace(', ', '-').replace(' ', '-')}"


SMOKE = Scale(
    "smoke",
    "For tests: 16 px, two classes a task, three tasks.",
    (
        Line("dcl", _folder("dcl"), "dcl", TINY, ONE),
        Line("dcl, 3 epochs", _folder("dcl, 3 epochs"), "dcl", {**TINY, "epochs": 3}, ONE),
        Line("dcl, 5 epochs", _folder("dcl, 5 epochs"), "dcl", {**TINY, "epochs": 5}, ONE),
        Line("dcl, 200 tasks", _folder("dcl, 200 tasks"), "dcl", TINY, ONE, asks=QUESTIONS),
        *(Line(name, _folder(name), name, TINY, ONE) for name in NAMES),
        *(
            Line(name, _folder(name), learner, {**TINY, "learner.memory_size": 10}, ONE)
            for name, learner in KEEPING.items()
        ),
    ),
)
