"""Web interface to records and models.

Input is a folder of records. The pages list and start runs, plot their curves, edit exemplar memories, and
show how a learner recognizes or reconstructs an image. `serve` runs the server on the loopback interface,
`create_app` returns the application.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.studio.server import Endpoint, create_app, listen, serve

__all__ = ["Endpoint", "create_app", "listen", "serve"]


def __getattr__(name: str) -> Any:
    # The web framework is an optional dependency, so it is imported on first use.
    if name in __all__:
        return getattr(importlib.import_module("everlearn.studio.server"), name)
    raise AttributeError(f"module 'everlearn.studio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
