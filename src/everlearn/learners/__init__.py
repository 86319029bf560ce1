"""Learners: one module per method, all with the same interface.

A learner takes batches and task views and gives predictions; its state can be saved at any time. Classes are
imported when they are first used: `from everlearn.learners import ER`. Names and descriptions need no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from everlearn.learners.registry import (
    LEARNERS,
    build,
    complete,
    description,
    learner_class,
    names,
    settings_class,
)

if TYPE_CHECKING:
    from everlearn.learners.base import (
        Decodes,
        EditsMemory,
        Encodes,
        EnvironmentInfo,
        EstimatesFactors,
        Footprint,
        Generates,
        HasPosterior,
        InfersEnvironment,
        Learner,
        Losses,
        MatchesExemplars,
        Rejects,
        Setting,
        State,
        setting,
    )
    from everlearn.learners.classifier import Classifier

__all__ = [
    "Classifier",
    "Decodes",
    "EditsMemory",
    "Encodes",
    "EnvironmentInfo",
    "EstimatesFactors",
    "Footprint",
    "Generates",
    "HasPosterior",
    "InfersEnvironment",
    "Learner",
    "Losses",
    "MatchesExemplars",
    "Rejects",
    "Setting",
    "State",
    "build",
    "complete",
    "description",
    "learner_class",
    "names",
    "setting",
    "settings_class",
]

_METHODS = {entry.class_name: entry.module for entry in LEARNERS.values()}


def __getattr__(name: str) -> Any:
    if name == "Classifier":
        return importlib.import_module("everlearn.learners.classifier").Classifier
    if name in _METHODS:
        return getattr(importlib.import_module(f"everlearn.learners.{_METHODS[name]}"), name)
    if name in __all__:
        return getattr(importlib.import_module("everlearn.learners.base"), name)
    raise AttributeError(f"module 'everlearn.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_METHODS})
