"""A continual-learning library and benchmark.

Packages, in the order of the data flow:

* ``factors``, ``shapes``, ``rendering``, ``streams``: ground-truth factors, outlines, pixels, tasks;
* ``memory``, ``networks``, ``learners``: replay buffers and exemplars, neural networks, methods;
* ``evaluation``, ``runs``, ``reports``: metrics and protocols, training loop and records, tables and figures;
* ``papers``: reproduced figures; ``studio``: web interface; ``plotting``: figure styles and axes.

Importing this package imports none of them; a package is imported on first use.
"""

import importlib
from types import ModuleType

__version__ = "0.1.0"

_PACKAGES = (
    "errors",
    "rng",
    "files",
    "settings",
    "serialization",
    "plotting",
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

__all__ = ["__version__", *_PACKAGES]


def __getattr__(name: str) -> ModuleType:
    if name in _PACKAGES:
        return importlib.import_module(f"everlearn.{name}")
    raise AttributeError(f"module 'everlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
