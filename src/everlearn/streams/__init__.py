"""In which order images arrive: the endless stream of tasks.

Takes settings that name a kind of stream; gives a `Stream` whose `task(k)` is a `Task` of images, labels and
ground truth, the same for everybody and at the same cost for every k. Streams come from drawn shapes or real
images, in many scenarios, and leave the house as files and as other libraries' data sets.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from everlearn.streams.environments import EnvironmentSettings, environments
from everlearn.streams.images.core50 import core50
from everlearn.streams.images.settings import fashion, folder, mnist, omniglot
from everlearn.streams.registry import build, from_json, from_mapping, from_toml, names, settings_class
from everlearn.streams.scenario_stream import ScenarioStream
from everlearn.streams.scenarios import ScenarioSettings
from everlearn.streams.settings import StreamSettings
from everlearn.streams.source import Source
from everlearn.streams.sprite_sessions import sprites_50
from everlearn.streams.sprites import SpriteSettings, sprites
from everlearn.streams.stream import SPLITS, Batch, Split, Stream, Task, TaskView

if TYPE_CHECKING:
    from everlearn.streams.exports import export, load
    from everlearn.streams.pairs import PairSampler

__all__ = [
    "SPLITS",
    "Batch",
    "EnvironmentSettings",
    "PairSampler",
    "ScenarioSettings",
    "ScenarioStream",
    "Source",
    "Split",
    "SpriteSettings",
    "Stream",
    "StreamSettings",
    "Task",
    "TaskView",
    "build",
    "core50",
    "environments",
    "export",
    "fashion",
    "folder",
    "from_json",
    "from_mapping",
    "from_toml",
    "load",
    "mnist",
    "names",
    "omniglot",
    "settings_class",
    "sprites",
    "sprites_50",
]

# Loaded when first used: they bring the renderer, or much code for files.
_LATER = {"PairSampler": "pairs", "export": "exports", "load": "exports"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"everlearn.streams.{_LATER[name]}"), name)
    raise AttributeError(f"module 'everlearn.streams' has no attribute {name!r}")
