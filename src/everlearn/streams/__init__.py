"""Streams of image-recognition tasks.

`sprites()`, `mnist()`, `environments()` and others build a `Stream`. `stream.task(k)` is a `Task` with
images, labels and ground-truth factors; it is pure, and its cost does not depend on k. Streams combine a
source (rendered shapes or real images) with a scenario, and can be exported to files and to the datasets of
other libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from everlearn.streams.environments import EnvironmentSettings, environments
from everlearn.streams.images.settings import core50, fashion, folder, mnist, omniglot
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

# Imported on first use: they need the renderer or the file formats.
_LAZY = {"PairSampler": "pairs", "export": "exports", "load": "exports"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"everlearn.streams.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'everlearn.streams' has no attribute {name!r}")
