"""Scenarios: the order of classes and images in a stream.

A scenario selects, for each task of a source, the training samples, the classes to test and the classes seen
so far. It does not load images.
"""

from everlearn.streams.scenarios.base import LabelMap, SampleIndex, Scenario, SeenClasses
from everlearn.streams.scenarios.settings import ScenarioSettings, ScenarioStreamSettings, SessionSettings

__all__ = [
    "LabelMap",
    "SampleIndex",
    "Scenario",
    "ScenarioSettings",
    "ScenarioStreamSettings",
    "SeenClasses",
    "SessionSettings",
]
