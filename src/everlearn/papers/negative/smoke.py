"""Generative negative replay in a minute: all of it is played, and that is all that is learned from it."""

from everlearn.papers.exhibit import Scale
from everlearn.papers.negative.variants import lines

ONE = (0,)
TINY = {
    "stream.image_size": 16,
    "stream.frames": 3,
    "stream.n_classes": 4,
    "stream.classes_per_task": 1,
    "stream.first_classes": 2,
    "evaluation.ahead": False,
    "batch_size": 16,
    "learner.backbone": "small-renorm",
}
REPLAY = {
    **TINY,
    "learner.memory_size": 8,
    "learner.replay_size": 4,
    "learner.generator_width": 8,
    "learner.code_size": 4,
    "learner.generator_epochs": 1,
}
NIC = {"stream.scenario": "nic", "n_tasks": 5}

SMOKE = Scale(
    "smoke",
    "For tests: 16 px, four shapes, three frames a session.",
    (
        *lines("nc", "smoke", alone=TINY, beside=REPLAY, seeds=ONE, stream="sprites-50"),
        *lines("nic", "smoke", alone=TINY | NIC, beside=REPLAY | NIC, seeds=ONE, stream="sprites-50"),
    ),
)
