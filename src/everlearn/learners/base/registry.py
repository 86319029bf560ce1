"""Learners by name: the room's own files are the list."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, get_type_hints

from pydantic import Field, create_model

import everlearn.learners as room
from everlearn.errors import BadInput, unknown
from everlearn.learners.base.learner import Learner
from everlearn.settings import Settings

CONTEXT = ("image_shape", "seed")
"""Arguments that come from the run, not from the user's settings."""


def names() -> list[str]:
    """The learners there are, as the command line spells them.

    Example:
        >>> {"a-gem", "cwr*", "der++"} <= set(names())
        True
    """
    return sorted(_files())


def learner_class(name: str) -> type[Learner]:
    """The class behind a name; its file is imported now."""
    files = _files()
    if name not in files:
        raise unknown("learner", name, sorted(files))
    module = importlib.import_module(f"{room.__name__}.{files[name]}")
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    (found,) = (c for c in own if issubclass(c, Learner))
    return found


@cache
def settings_class(name: str) -> type[Settings]:
    """What a user can set on a learner, from its constructor; descriptions from its docstring.

    What a constructor passes on unnamed is set as the constructor of the class above it says.

    Example:
        >>> field = settings_class("er").model_fields["memory_size"]
        >>> field.default, field.description
        (2000, 'images kept in all.')
    """
    found = learner_class(name)
    fields: dict[str, Any] = {}
    for constructor in _constructors(found):
        types = get_type_hints(constructor, include_extras=True)
        for key, parameter in inspect.signature(constructor).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and key not in (*CONTEXT, *fields):
                fields[key] = types[key], Field(parameter.default, description=_description(found, key))
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


def _files() -> dict[str, str]:
    """The file of each learner by its name: of a-gem a_gem, of der++ der_plus_plus, of cwr* cwr_star."""
    files = [file.name for file in pkgutil.iter_modules(room.__path__) if not file.ispkg]
    return {file.replace("_plus", "+").replace("_star", "*").replace("_", "-"): file for file in files}


def _constructors(found: type) -> Iterator[Callable[..., None]]:
    """A class's constructor, and those above it for as long as unnamed settings are passed on."""
    for constructor in (c.__dict__["__init__"] for c in found.__mro__ if "__init__" in c.__dict__):
        yield constructor
        if all(p.kind is not p.VAR_KEYWORD for p in inspect.signature(constructor).parameters.values()):
            break


def _description(found: type, key: str) -> str | None:
    """What the nearest docstring that has the argument says about it."""
    return next((said[key] for said in map(_descriptions, found.__mro__) if key in said), None)


@cache
def _descriptions(found: type) -> dict[str, str]:
    """The sentence of each argument in a docstring's Args."""
    arguments = inspect.cleandoc(found.__doc__ or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", arguments, re.MULTILINE)
    return {key: " ".join(text.split()) for key, text in entries}
