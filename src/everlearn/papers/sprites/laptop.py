"""Infinite dSprites on two cores: the paper's stream at 64 px, a small network, fewer tasks for rivals.

DCL meets all 500 tasks, and each image once. Its rivals have `pooled`, which of our small backbones learns a
task from the fewest images; all networks see images averaged down to 32 px. Those that rehearse see each
new image once, beside three remembered ones; those that do not pass over each task three times, which is what
it takes to learn one well. Settings were chosen on the stream with seed 9, which is not shown.
"""

from everlearn.papers.exhibit import Line, Scale

SEEDS = (0, 1, 2)
TWO = (0, 1)
ONE = (0,)

PLAIN = {"evaluation.ahead": False}
"""Classes that nobody has met cannot be named, so there is nothing to ask ahead."""
ASKED = {**PLAIN, "n_tasks": 200, "evaluation.every": 10}
QUESTIONS = (("oneshot",), ("openset",), ("choice",))
RIVAL = {**PLAIN, "learner.backbone": "pooled", "batch_size": 32, "epochs": 3, "n_tasks": 20}
REPLAY = {**RIVAL, "epochs": 1, "n_tasks": 30, "learner.replay_size": 96}
DARK = {**REPLAY, "learner.replay_size": 48, "learner.alpha": 0.1, "learner.beta": 0.5}
"""DER++ draws from its memory twice, so half as much each time."""
SHORT = {**RIVAL, "stream.classes_per_task": 5}
PRETRAINED = "results/vit-fashion.safetensors"


def _er(words: str, size: int) -> Line:
    settings = {**REPLAY, "learner.memory_size": size}
    return Line(f"er {words}", f"sprites/er-{words}", "er", settings, TWO, minutes=6.5)


def _short(words: str, learner: str, minutes: float, **settings: object) -> Line:
    """A run on tasks of five classes, cheap enough for three seeds and for joint training."""
    changed = {f"learner.{name}" if name != "epochs" else name: value for name, value in settings.items()}
    folder = f"short/{words.replace(' ', '-')}"
    return Line(f"{words}, short", folder, learner, {**SHORT, **changed}, SEEDS, minutes=minutes)


LAPTOP = Scale(
    "laptop",
    "Two cores: 64 px, small networks, 500 tasks for DCL, 12 to 30 for the others. The machine was busy with "
    "other work, so times are upper bounds.",
    (
        Line("dcl", "dcl/500-tasks", "dcl", {**PLAIN, "n_tasks": 500}, TWO, minutes=16),
        Line("dcl, 200 tasks", "dcl/200-tasks", "dcl", ASKED, SEEDS, asks=QUESTIONS, minutes=9),
        Line("dcl, 3 epochs", "dcl/3-epochs", "dcl", {**ASKED, "epochs": 3}, ONE, minutes=10),
        Line("dcl, 5 epochs", "dcl/5-epochs", "dcl", {**ASKED, "epochs": 5}, ONE, minutes=11),
        Line("naive", "sprites/naive", "naive", RIVAL, TWO, minutes=4),
        Line("lwf", "sprites/lwf", "lwf", {**RIVAL, "learner.alpha": 0.1}, TWO, minutes=5),
        Line("ewc", "sprites/ewc", "ewc", {**RIVAL, "learner.strength": 1.0}, TWO, minutes=4),
        Line("si", "sprites/si", "si", {**RIVAL, "learner.strength": 0.1}, TWO, minutes=4),
        _er("250", 250),
        _er("1k", 1000),
        _er("5k", 5000),
        _er("20k", 20_000),
        Line(
            "a-gem",
            "sprites/a-gem",
            "a-gem",
            {**RIVAL, "epochs": 1, "learner.replay_size": 96, "learner.memory_size": 5000},
            TWO,
            minutes=5,
        ),
        Line(
            "der 5k",
            "sprites/der-5k",
            "der++",
            {**DARK, "learner.memory_size": 5000},
            TWO,
            minutes=7,
        ),
        Line("contrastive", "sprites/contrastive", "contrastive", RIVAL, TWO, minutes=6),
        Line(
            "l2p",
            "sprites/l2p",
            "l2p",
            {**PLAIN, "n_tasks": 12, "epochs": 3, "batch_size": 32, "learner.weights": PRETRAINED},
            ONE,
            minutes=16,
        ),
        _short("naive", "naive", 2),
        _short("er 500", "er", 2.5, epochs=1, replay_size=96, memory_size=500),
        _short("er 2k", "er", 2.5, epochs=1, replay_size=96, memory_size=2000),
        _short("er 8k", "er", 2.5, epochs=1, replay_size=96, memory_size=8000),
        _short("joint", "joint", 6, epochs=1),
    ),
)
