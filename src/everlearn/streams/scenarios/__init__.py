"""In which order images arrive, whatever they show.

Takes a `Source` of classes and images; gives, for every task number, the rows of the task, the classes
it is tested on and what has been seen so far. Knows nothing of pixels.
"""

from everlearn.streams.scenarios.base import Labelling, Rows, Scenario, Seen
from everlearn.streams.scenarios.settings import OrderedSettings, ScenarioSettings

__all__ = ["Labelling", "OrderedSettings", "Rows", "Scenario", "ScenarioSettings", "Seen"]
