"""The kinds of streams by name, loaded when first asked for."""

import importlib
import inspect
import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, cast, get_type_hints

from everlearn.errors import BadInput, unknown
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream

P = ParamSpec("P")

_KINDS = {
    "sprites": ("everlearn.streams.sprites", "SpriteSettings"),
    "sprites-50": ("everlearn.streams.sprite_sessions", "FilmedSettings"),
    "environments": ("everlearn.streams.environments", "EnvironmentSettings"),
    "mnist": ("everlearn.streams.images", "MnistSettings"),
    "fashion": ("everlearn.streams.images", "FashionSettings"),
    "omniglot": ("everlearn.streams.images", "OmniglotSettings"),
    "folder": ("everlearn.streams.images", "FolderSettings"),
    "core50": ("everlearn.streams.images.core50", "Core50Settings"),
}


def names() -> tuple[str, ...]:
    """The names of all kinds of streams.

    Example:
        >>> names()
        ('sprites', 'sprites-50', 'environments', 'mnist', 'fashion', 'omniglot', 'folder', 'core50')
    """
    return tuple(_KINDS)


def settings_class(kind: str) -> type[StreamSettings]:
    """The settings of a kind of stream; its docstring and fields say what can be set."""
    if kind not in _KINDS:
        raise unknown("stream", kind, _KINDS)
    module, name = _KINDS[kind]
    return cast("type[StreamSettings]", getattr(importlib.import_module(module), name))


def from_mapping(settings: Mapping[str, Any]) -> StreamSettings:
    """The settings in a plain dictionary whose "stream" names the kind.

    Example:
        >>> from_mapping({"stream": "sprites", "image_size": 32}).image_size
        32
    """
    kind = settings.get("stream")
    if not isinstance(kind, str):
        raise BadInput(f"the settings do not say which stream they are for; add stream = one of {names()}")
    return settings_class(kind)(**{name: value for name, value in settings.items() if name != "stream"})


def from_json(text: str) -> StreamSettings:
    """The settings that `StreamSettings.to_json` wrote."""
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise BadInput(f"the settings are not JSON: {error}") from None
    if not isinstance(settings, dict):
        raise BadInput(f"the settings are {settings!r}; they must be an object with names and values")
    return from_mapping(settings)


def from_toml(text: str) -> StreamSettings:
    """The settings that `StreamSettings.to_toml` wrote."""
    try:
        return from_mapping(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the settings are not TOML: {error}") from None


def build(settings: Mapping[str, Any]) -> Stream:
    """The stream that a plain dictionary describes.

    Example:
        >>> build({"stream": "sprites", "n_tasks": 20})
        <sprites/class-incremental-v1: 20 tasks>
    """
    return from_mapping(settings).build()


def builder(settings: Callable[P, StreamSettings]) -> Callable[P, Stream]:
    """The function that builds a stream from the settings of its kind, given as keyword arguments.

    Names, types, defaults and descriptions are those of the settings, which alone say them.
    """
    model = cast("type[StreamSettings]", settings)

    def stream(*args: P.args, **kwargs: P.kwargs) -> Stream:
        return settings(*args, **kwargs).build()

    stream.__name__ = stream.__qualname__ = model.kind
    stream.__module__ = model.__module__
    stream.__doc__ = "\n".join([inspect.cleandoc(model.__doc__ or ""), "", "Args:", *_described(model)])
    stream.__signature__ = _signature(model)  # type: ignore[attr-defined]  # functions may carry one
    return stream


def _described(model: type[StreamSettings]) -> list[str]:
    return [f"    {name}: {field.description}" for name, field in model.model_fields.items()]


def _signature(model: type[StreamSettings]) -> inspect.Signature:
    types = get_type_hints(model)  # without pydantic's bounds, which would bury the types
    signature = inspect.signature(model)
    parameters = [p.replace(annotation=types[name]) for name, p in signature.parameters.items()]
    return signature.replace(parameters=parameters, return_annotation=Stream)
