"""Scenarios: the order of classes and images in a stream.

A scenario selects, for each task of a source, the training samples, the classes to test and the classes seen
so far. It does not load images.
"""

from everlearn.lazy import lazy_package
from everlearn.streams.scenarios.base import LabelMap, SampleIndex, Scenario, SeenClasses
from everlearn.streams.scenarios.settings import ScenarioSettings, ScenarioStreamSettings, SessionSettings

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
