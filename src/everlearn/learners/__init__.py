"""Who learns: one file per method, all playing in the same loop.

Takes batches and task views; gives predictions, and a state that can be saved at any moment. The room
lists its own files and imports one only when it is asked for, so that a new learner is one new file.
"""

from everlearn.learners.base.learner import (
    Describes,
    EditsMemory,
    Encodes,
    EstimatesFactors,
    Footprint,
    Generates,
    Learner,
    Losses,
    Rejects,
    State,
)
from everlearn.learners.base.registry import build, complete, learner_class, names, settings_class

__all__ = [
    "Describes",
    "EditsMemory",
    "Encodes",
    "EstimatesFactors",
    "Footprint",
    "Generates",
    "Learner",
    "Losses",
    "Rejects",
    "State",
    "build",
    "complete",
    "learner_class",
    "names",
    "settings_class",
]
