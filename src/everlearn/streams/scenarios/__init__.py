"""Scenarios: the order of classes and images in a stream.

A scenario selects the samples and classes of each task; it does not load images.
"""

from everlearn.lazy import lazy_package
from everlearn.streams.scenarios.base import LabelMap, SampleIndex, Scenario, SeenClasses
from everlearn.streams.scenarios.settings import ScenarioSettings, ScenarioStreamSettings, SessionSettings

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
