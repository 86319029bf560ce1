"""A lab for learning that never stops.

The rooms, in the order in which things happen:

* ``factors``: what may vary, ``shapes``: what is drawn, ``rendering``: how it becomes pixels;
* ``streams``: in which order it arrives;
* ``memory``, ``networks``, ``learners``: what is kept, and who learns;
* ``evaluation``, ``runs``, ``reports``: how well, what happened, and how it looks;
* ``papers``: what others claim, done again; ``studio``: all of it in the browser.

Importing this package defines names and does nothing else; a room is loaded when it is first used.
"""

import importlib
from types import ModuleType

__version__ = "0.1.0"

_ROOMS = (
    "errors",
    "rng",
    "files",
    "factors",
    "shapes",
    "rendering",
    "streams",
    "memory",
    "networks",
    "learners",
    "evaluation",
    "runs",
    "reports",
    "papers",
    "studio",
)

__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> ModuleType:
    if name in _ROOMS:
        return importlib.import_module(f"everlearn.{name}")
    raise AttributeError(f"module 'everlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
