"""Infinite dSprites at the paper's own size; for a GPU, or many.

500 tasks of 10 shapes on a 5^4 grid, ResNet-18, Adam at 0.001, batches of 256, 5 epochs, and the strengths
and buffers that the paper names. A-GEM stops after 50 tasks and l2p after 100, as there.
"""

from everlearn.papers.exhibit import Line, Scale

SEEDS = (0,)

COMMON = {
    "stream.image_size": 224,
    "evaluation.ahead": False,
    "evaluation.probe_size": 10_000,
    "batch_size": 256,
    "epochs": 5,
    "n_tasks": 500,
    "device": "cuda",
}
RIVAL = {**COMMON, "learner.backbone": "resnet18"}
SHORT = {**RIVAL, "n_tasks": 20, "stream.classes_per_task": 5}
ASKED = {**COMMON, "n_tasks": 200, "evaluation.every": 10}
QUESTIONS = (("oneshot",), ("openset",), ("choice",))
PRETRAINED = "hub:timm/vit_base_patch16_224.augreg_in21k_ft_in1k"
BUFFERS = (1, 2, 5, 10, 20)


def _er(thousands: int) -> Line:
    settings = {**RIVAL, "learner.memory_size": 1000 * thousands, "learner.replay_size": 256}
    return Line(f"er {thousands}k", f"paper/er-{thousands}k", "er", settings, SEEDS)


def _short_er(words: str, size: int) -> Line:
    settings = {**SHORT, "learner.memory_size": size, "learner.replay_size": 256}
    return Line(f"er {words}, short", f"paper/short-er-{words}", "er", settings, SEEDS)


def _dcl(name: str, folder: str, epochs: int) -> Line:
    return Line(name, f"paper/{folder}", "dcl-paper", {**COMMON, "epochs": epochs}, SEEDS)


PAPER = Scale(
    "paper",
    "The paper's own size: 224 px, ResNet-18, 5 epochs, 500 tasks; for a GPU.",
    (
        _dcl("dcl", "dcl-online", 1),
        _dcl("dcl, 3 epochs", "dcl-3-epochs", 3),
        _dcl("dcl, 5 epochs", "dcl-5-epochs", 5),
        Line("dcl, 200 tasks", "paper/dcl-200-tasks", "dcl-paper", ASKED, SEEDS, asks=QUESTIONS),
        Line("naive", "paper/naive", "naive", RIVAL, SEEDS),
        Line("lwf", "paper/lwf", "lwf", {**RIVAL, "learner.alpha": 0.1}, SEEDS),
        Line("ewc", "paper/ewc", "ewc", {**RIVAL, "learner.strength": 0.3}, SEEDS),
        Line("si", "paper/si", "si", {**RIVAL, "learner.strength": 0.1}, SEEDS),
        *map(_er, BUFFERS),
        Line(
            "a-gem",
            "paper/a-gem",
            "a-gem",
            {**RIVAL, "n_tasks": 50, "learner.memory_size": 500, "learner.replay_size": 64},
            SEEDS,
        ),
        Line(
            "der 5k",
            "paper/der-5k",
            "der++",
            {
                **RIVAL,
                "n_tasks": 200,
                "learner.memory_size": 5000,
                "learner.replay_size": 256,
                "learner.alpha": 0.1,
                "learner.beta": 0.5,
            },
            SEEDS,
        ),
        Line("contrastive", "paper/contrastive", "contrastive", {**RIVAL, "n_tasks": 100}, SEEDS),
        Line(
            "l2p",
            "paper/l2p",
            "l2p",
            {**COMMON, "n_tasks": 100, "epochs": 20, "learner.weights": PRETRAINED},
            SEEDS,
        ),
        Line("naive, short", "paper/short-naive", "naive", SHORT, SEEDS),
        *(_short_er(words, size) for words, size in (("500", 500), ("2k", 2000), ("8k", 8000))),
        Line("joint, short", "paper/short-joint", "joint", SHORT, SEEDS),
    ),
)
