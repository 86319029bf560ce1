"""Packages that import their modules on first use."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_package(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: the name of the package.
        modules: the public names in each of its modules.
    """
    owners = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name in owners:
            return getattr(importlib.import_module(f"{package}.{owners[name]}"), name)
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(owners), sorted(owners)
