"""Generative negative replay at the paper's own size: CORe50 at 128 px, MobileNet; for a GPU.

The settings are those of the paper's appendices F and G. Of the 128 patterns of a batch 14 (NC) or 64 (NIC)
are replayed, of random ones 21 in NIC. The strength of AR1 is half of lambda times the multiplier of
importances, its ceiling the clip value over the multiplier. The paper starts from weights trained on
ImageNet; put those of the backbone "mobile" into results/mobile-imagenet.safetensors.
"""

from dataclasses import replace

from everlearn.papers.exhibit import Line, Scale
from everlearn.papers.negative.variants import lines

SEEDS = (0, 1, 2)
COMMON = {
    "device": "cuda",
    "epochs": 4,
    "evaluation.ahead": False,
    "evaluation.probe_size": 50_000,
    "learner.backbone": "mobile",
    "learner.weights": "results/mobile-imagenet.safetensors",
    "learner.weight_decay": 1e-4,
}
GENERATOR = {"learner.replay_layer": 11, "learner.code_size": 100, "learner.beta": 0.1, "learner.eta": 0.01}

NC_ALONE = {
    **COMMON,
    "batch_size": 128,
    "learner.learning_rate": 3e-4,
    "learner.body_rate": 3e-4,
    "learner.head_rate": 3e-4,
    "learner.strength": 0.4,
    "learner.ceiling": 1e3,
}
NC_REPLAY = {
    **COMMON,
    **GENERATOR,
    "batch_size": 114,
    "learner.learning_rate": 3e-2,
    "learner.body_rate": 5e-5,
    "learner.head_rate": 5e-4,
    "learner.memory_size": 1500,
    "learner.replay_size": 14,
    "learner.generator_replay": 27,
}
NIC = {
    "stream.scenario": "nic",
    "evaluation.every": 17,
    "learner.learning_rate": 1e-3,
    "learner.body_rate": 1e-4,
    "learner.head_rate": 1e-3,
}
NIC_ALONE = {**NC_ALONE, **NIC, "learner.strength": 23.0, "learner.ceiling": 50.0}
NIC_REPLAY = {
    **NC_REPLAY,
    **NIC,
    "batch_size": 64,
    "learner.memory_size": 300,
    "learner.replay_size": 64,
    "learner.generator_replay": 64,
}


def _with_less_noise(line: Line) -> Line:
    """Random patterns are fewer in a batch."""
    if line.name != "nic NR-RD":
        return line
    return replace(line, settings={**line.settings, "batch_size": 107, "learner.replay_size": 21})


PAPER = Scale(
    "paper",
    "The paper's own size: CORe50 at 128 px, MobileNet, 4 epochs; for a GPU.",
    tuple(
        map(
            _with_less_noise,
            (
                *lines("nc", "paper", alone=NC_ALONE, beside=NC_REPLAY, seeds=SEEDS, stream="core50"),
                *lines("nic", "paper", alone=NIC_ALONE, beside=NIC_REPLAY, seeds=SEEDS, stream="core50"),
            ),
        )
    ),
)
