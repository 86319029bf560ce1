"""Every public method has a docstring, its own or an inherited one."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import everlearn

SKIPPED = ("everlearn.__main__", "everlearn.runs.sweep.child_main", "everlearn.studio.image_decoder_child")


def public_classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(everlearn.__path__, "everlearn."):
        if module.name not in SKIPPED:
            for name, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if found.__module__ == module.name and not name.startswith("_"):
                    yield found


def test_public_methods_are_documented() -> None:
    missing = [
        f"{cls.__module__}.{cls.__qualname__}.{name}"
        for cls in public_classes()
        for name, member in vars(cls).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
        if not inspect.getdoc(getattr(cls, name))
    ]
    assert not missing
