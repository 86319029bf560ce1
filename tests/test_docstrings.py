"""Every public method has a docstring, its own or an inherited one; every public name has an example.

Every public class has a name of its own; only `everlearn.Record` extends the record of the runs with figures.
"""

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Iterator

import everlearn

SKIPPED = ("everlearn.__main__", "everlearn.runs.sweep.child_main", "everlearn.studio.image_decoder_child")
PUBLIC = (
    "everlearn", "everlearn.streams", "everlearn.learners", "everlearn.memory", "everlearn.networks",
    "everlearn.evaluation", "everlearn.runs", "everlearn.reports", "everlearn.testing", "everlearn.factors",
    "everlearn.shapes", "everlearn.rendering", "everlearn.rng", "everlearn.registry",
)  # fmt: skip
"""Packages and modules that users import from."""


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


def test_a_class_name_means_one_thing() -> None:
    named = Counter(cls.__name__ for cls in public_classes() if cls is not everlearn.Record)
    assert [name for name, n in named.items() if n > 1] == []


def public_objects() -> Iterator[tuple[str, object]]:
    """The public classes and functions, which are not constants, type aliases or modules."""
    for module in map(importlib.import_module, PUBLIC):
        own = [name for name, found in vars(module).items() if _is_own(name, found, module.__name__)]
        for name in getattr(module, "__all__", own):
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isroutine(found):
                yield f"{module.__name__}.{name}", found


def _is_own(name: str, found: object, module: str) -> bool:
    return not name.startswith("_") and getattr(found, "__module__", None) == module


def test_every_public_name_has_an_example() -> None:
    missing = [name for name, found in public_objects() if ">>>" not in (found.__doc__ or "")]
    assert not missing
