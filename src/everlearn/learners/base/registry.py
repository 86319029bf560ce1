"""Learners by name: the room's own files are the list."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from pydantic import Field, create_model

import everlearn.learners as room
from everlearn.errors import BadInput, unknown
from everlearn.learners.base.learner import Learner
from everlearn.streams.settings import Settings

CONTEXT = ("image_shape", "seed")
"""Arguments that come from the run, not from the user's settings."""


def names() -> list[str]:
    """The learners there are, as the command line spells them."""
    files = pkgutil.iter_modules(room.__path__)
    return sorted(file.name.replace("_", "-") for file in files if not file.ispkg)


def learner_class(name: str) -> type[Learner]:
    """The class behind a name; its file is imported now."""
    if name not in names():
        raise unknown("learner", name, names())
    module = importlib.import_module(f"{room.__name__}.{name.replace('-', '_')}")
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    (found,) = (c for c in own if issubclass(c, Learner))
    return found


@cache
def settings_class(name: str) -> type[Settings]:
    """What a user can set on a learner, from its constructor; descriptions from its docstring.

    Example:
        >>> field = settings_class("er").model_fields["memory_size"]
        >>> field.default, field.description
        (2000, 'images kept in all.')
    """
    found = learner_class(name)
    types, said = get_type_hints(found.__init__, include_extras=True), _descriptions(found)
    fields: dict[str, Any] = {
        key: (types[key], Field(parameter.default, description=said.get(key)))
        for key, parameter in inspect.signature(found).parameters.items()
        if key not in CONTEXT
    }
    model: type[Settings] = create_model(found.__name__, __base__=Settings, __module__=__name__, **fields)
    model.kind = name
    return model


def complete(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a learner, checked: those given, and the defaults of the others."""
    known = settings_class(name)
    if settings and not known.model_fields:
        raise BadInput(f"{name} has no settings, but {sorted(settings)[0]!r} was given; leave it out")
    return known(**settings).model_dump(mode="json")


def build(name: str, *, image_shape: tuple[int, ...], seed: int, **settings: Any) -> Learner:
    """A fresh learner with some settings changed from their defaults."""
    checked = dict(settings_class(name)(**complete(name, settings)))
    return learner_class(name)(image_shape=image_shape, seed=seed, **checked)


def _descriptions(found: type[Learner]) -> dict[str, str]:
    """The sentence of each argument in a docstring's Args."""
    arguments = inspect.cleandoc(found.__doc__ or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", arguments, re.MULTILINE)
    return {key: " ".join(text.split()) for key, text in entries}
