"""In which order pictures arrive: the endless stream of tasks.

Takes settings that name a kind of stream; gives a `Stream` whose `task(k)` is a `Task` of images, labels and
ground truth, the same for everybody and at the same cost for every k. Streams come from drawn shapes or real
pictures, in many scenarios, and leave the house as files and as other libraries' data sets.
"""

from everlearn.streams.arranged import ArrangedStream
from everlearn.streams.batch import Batch
from everlearn.streams.exports import export, load
from everlearn.streams.kinds import build, builder, from_json, from_mapping, from_toml, kinds, settings_class
from everlearn.streams.scenarios import ScenarioSettings
from everlearn.streams.settings import StreamSettings
from everlearn.streams.source import Source
from everlearn.streams.sprites import SpriteSettings, sprites
from everlearn.streams.stream import Stream
from everlearn.streams.task import SPLITS, Split, Task, TaskView

__all__ = [
    "SPLITS",
    "ArrangedStream",
    "Batch",
    "ScenarioSettings",
    "Source",
    "Split",
    "SpriteSettings",
    "Stream",
    "StreamSettings",
    "Task",
    "TaskView",
    "build",
    "builder",
    "export",
    "from_json",
    "from_mapping",
    "from_toml",
    "kinds",
    "load",
    "settings_class",
    "sprites",
]
