"""Learners by name: the room's own files are the list."""

import importlib
import inspect
import pkgutil
from typing import Any

import everlearn.learners as room
from everlearn.errors import BadInput, unknown
from everlearn.learners.base.learner import Learner

CONTEXT = ("image_shape", "seed")
"""Arguments that come from the run, not from the user's settings."""


def names() -> list[str]:
    """The learners there are, as the command line spells them."""
    return sorted(file.name.replace("_", "-") for file in pkgutil.iter_modules(room.__path__) if not file.ispkg)


def learner_class(name: str) -> type[Learner]:
    """The class behind a name; its file is imported now."""
    if name not in names():
        raise unknown("learner", name, names())
    module = importlib.import_module(f"{room.__name__}.{name.replace('-', '_')}")
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    (found,) = (c for c in own if issubclass(c, Learner))
    return found


def settings_of(name: str) -> dict[str, inspect.Parameter]:
    """What a user can set on a learner, from its constructor."""
    parameters = inspect.signature(learner_class(name)).parameters
    return {key: p for key, p in parameters.items() if key not in CONTEXT}


def build(name: str, *, image_shape: tuple[int, ...], seed: int, **settings: Any) -> Learner:
    """A fresh learner with some settings changed from their defaults."""
    known = settings_of(name)
    for key in settings:
        if key not in known:
            raise unknown(f"setting of {name}", key, known) if known else BadInput(f"{name} has no settings")
    return learner_class(name)(image_shape=image_shape, seed=seed, **settings)
