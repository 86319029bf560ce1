"""Records and models in the browser.

Takes a folder of records; serves pages that draw shapes, follow runs, edit what a learner remembers and put
images before it. Gives `create_app`, and `open_door` and `serve` that put it on this machine's own address
and nowhere else.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.studio.server import Door, create_app, open_door, serve

__all__ = ["Door", "create_app", "open_door", "serve"]


def __getattr__(name: str) -> Any:
    # The web framework is an extra; whoever only looks at this room must not need it.
    if name in __all__:
        return getattr(importlib.import_module("everlearn.studio.server"), name)
    raise AttributeError(f"module 'everlearn.studio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
