"""Protocols: evaluations of a trained learner beyond accuracy per task.

Every module of this package except `base` is a protocol, imported on first use. Other packages add protocols
with entry points in the group "everlearn.protocols".

Example:
    >>> names()[:3]
    ['ambiguity', 'answer-cost', 'cross-domain']
    >>> get("one-shot").__name__
    'OneShot'
"""

import inspect
import pkgutil
from typing import TYPE_CHECKING, Any

from everlearn.lazy import lazy_package
from everlearn.registry import Registry

if TYPE_CHECKING:
    from everlearn.evaluation.protocols.base import Context, Protocol, Result, ResultGroup, Table

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
__all__ += ["REGISTRY", "evaluate", "figure_names", "get", "names"]

_MODULES = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def _is_protocol(component: Any) -> bool:
    from everlearn.evaluation.protocols.base import Protocol

    return inspect.isclass(component) and issubclass(component, Protocol) and component is not Protocol


def _class_name(module: str) -> str:
    return "".join(word.capitalize() for word in module.split("_"))


REGISTRY = Registry(
    kind="protocol",
    group="everlearn.protocols",
    builtin={name.replace("_", "-"): f"{__name__}.{name}:{_class_name(name)}" for name in _MODULES},
    expected="a subclass of everlearn.evaluation.protocols.Protocol",
    accepts=_is_protocol,
)


def names() -> list[str]:
    """The names of all protocols, of this and of installed packages, without importing them."""
    return REGISTRY.names()


def get(name: str) -> "type[Protocol[Any]]":
    """The protocol of a name, an import string or a file."""
    return REGISTRY.get(name)


def figure_names() -> dict[str, str]:
    """All figures of protocols, and the protocol of each."""
    return {figure: name for name in names() for figure in get(name).figures}


def evaluate(
    name: str, learner: Any, stream: Any, n_tasks: int, *, context: "Context | None" = None, **options: Any
) -> "Result":
    """Evaluate a trained learner on the protocol of a name, with its options; see `Protocol.run`."""
    return get(name)(**options).run(learner, stream, n_tasks, **(context or {}))
