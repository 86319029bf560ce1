"""Presets of the form for a new run, with their durations."""

from dataclasses import asdict, dataclass, field
from typing import Any

_SMALL = {"stream.image_size": 32, "stream.classes_per_task": 5, "n_tasks": 8}


@dataclass(frozen=True)
class Preset:
    """A run of a learner on a stream."""

    title: str  # in the form
    about: str  # what the run shows
    learner: str  # by name
    stream: str  # by name
    seconds: int  # of the run on one CPU core; of one task of the user's images if `asks` is set
    name: str = ""  # of the record
    settings: dict[str, Any] = field(default_factory=dict)  # those that differ from the defaults
    asks: str | None = None  # a setting that the user must fill in


PRESETS = {
    "dcl": Preset(
        "Quick look",
        "DCL learns eight tasks of five shapes each and keeps them all.",
        "dcl",
        "sprites",
        25,
        "quick look",
        _SMALL,
    ),
    "naive": Preset(
        "Forgetting",
        "The same tasks without any protection: each task overwrites the one before.",
        "naive",
        "sprites",
        15,
        "forgetting",
        _SMALL,
    ),
    "vase": Preset(
        "Environments",
        "VASE finds out without labels when inverted shapes that move are followed by others that do not.",
        "vase",
        "environments",
        45,
        "environments",
        {
            "epochs": 12,
            "stream.sequence": ["moving-inverted-sprites", "sprites"],
            "stream.image_size": 16,
            "stream.images_per_stage": 8000,
            "stream.n_shapes": 5,
            "stream.images_per_shape": 2000,
            "learner.size": "tiny",
            "learner.n_latents": 10,
            "learner.learning_rate": 0.002,
            "learner.entangled": True,  # the slow growth of C would take longer than a minute
            "learner.beta": 0.1,
            "learner.usage_min_kl": 0.5,
            "learner.cooldown": 450,  # a task has 1,500 batches
            "learner.kappa": 2.0,  # in so short a run errors vary more
        },
    ),
    "paper": Preset(
        "Benchmark of the paper",
        "DCL on 500 tasks of ten shapes, 5,000 classes in all.",
        "dcl",
        "sprites",
        1560,
        settings={"n_tasks": 500},
    ),
    "photos": Preset(
        "My photos",
        "DCL learns the poses of your things from one photo each, three things per task.",
        "dcl",
        "folder",
        12,
        "my photos",
        {"stream.classes_per_task": 3, "stream.n_poses": 500, "epochs": 12},  # few tasks need more
        "stream.data",
    ),
    "data": Preset(
        "My data",
        "Experience replay on the images and labels of a .npz file; time for 2,000 images of 28 pixels.",
        "er",
        "arrays",
        2,
        "my data",
        {"stream.classes_per_task": 2},
        "stream.data",
    ),
}
"""Presets by key."""


def describe() -> list[dict[str, Any]]:
    """All presets as JSON values.

    Example:
        >>> [preset["key"] for preset in describe()][:3]
        ['dcl', 'naive', 'vase']
    """
    return [{"key": key, **asdict(preset)} for key, preset in PRESETS.items()]
