"""Protocols: evaluations of a trained learner beyond accuracy per task.

Every module of this package besides `base` is a protocol; it is imported only when it is used.

Example:
    >>> names()[:3]
    ['ambiguity', 'cross-domain', 'disentanglement']
    >>> get("one-shot").__name__
    'OneShot'
"""

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from everlearn.errors import unknown
from everlearn.evaluation.protocols.base import Context, Group, Protocol, Result, Table

__all__ = ["Context", "Group", "Protocol", "Result", "Table", "evaluate", "figure_names", "get", "names"]


def names() -> list[str]:
    """The names of all protocols, without importing them."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")
    return [name.replace("_", "-") for name in modules]


@cache
def get(name: str) -> type[Protocol[Any]]:
    """The protocol of a name."""
    if name not in names():
        raise unknown("protocol", name, names())
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    classes = (each for _, each in inspect.getmembers(module, inspect.isclass) if issubclass(each, Protocol))
    return next(each for each in classes if not inspect.isabstract(each))


def figure_names() -> dict[str, str]:
    """All figures of protocols, and the protocol of each."""
    return {figure: name for name in names() for figure in get(name).figures}


def evaluate(
    name: str, learner: Any, stream: Any, n_tasks: int, *, context: Context | None = None, **options: Any
) -> Result:
    """Evaluate a trained learner on the protocol of a name, with its options; see `Protocol.run`."""
    return get(name)(**options).run(learner, stream, n_tasks, **(context or {}))
