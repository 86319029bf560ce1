"""Packages that import their modules on first use."""

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any


def lazy_package(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the imports in its `__init__.py`.

    The public names are those that it imports from its own modules. Imports under `if TYPE_CHECKING` are made
    when a name is first used, so that names are written once and editors know all of them.
    """
    own, lazy = _imports(package)

    def get(name: str) -> Any:
        if name not in lazy:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if lazy[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(lazy[name]), name)

    public = sorted({**own, **lazy})
    return get, lambda: public, public


def _imports(package: str) -> tuple[dict[str, str], dict[str, str]]:
    """The names that a package imports from itself, immediately and lazily, and their modules."""
    loader: Any = sys.modules[package].__loader__
    body = ast.parse(loader.get_source(package)).body
    guarded = [part for node in body if isinstance(node, ast.If) for part in node.body]

    def names(nodes: list[ast.stmt]) -> dict[str, str]:
        froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        inside = [
            node for node in froms if f"{node.module}.".startswith(f"{package}.") and node.module != __name__
        ]
        return {alias.name: str(node.module) for node in inside for alias in node.names}

    return names(body), names(guarded)
