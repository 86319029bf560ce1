"""The registry of streams: settings classes by name, imported on first use."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, cast, get_type_hints

from everlearn.errors import BadInput, unknown
from everlearn.settings import read_json, read_toml
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream

P = ParamSpec("P")

_STREAMS = {
    "sprites": ("everlearn.streams.sprites", "SpriteSettings"),
    "sprites-50": ("everlearn.streams.sprite_sessions", "SpriteSessionSettings"),
    "environments": ("everlearn.streams.environments", "EnvironmentSettings"),
    "mnist": ("everlearn.streams.images", "MnistSettings"),
    "fashion": ("everlearn.streams.images", "FashionSettings"),
    "omniglot": ("everlearn.streams.images", "OmniglotSettings"),
    "folder": ("everlearn.streams.images", "FolderSettings"),
    "core50": ("everlearn.streams.images", "Core50Settings"),
    "arrays": ("everlearn.streams.images", "ArraySettings"),
    "csv": ("everlearn.streams.images", "CsvSettings"),
    "huggingface": ("everlearn.streams.images", "HuggingFaceSettings"),
    "split-mnist": ("everlearn.streams.images", "SplitMnistSettings"),
    "permuted-mnist": ("everlearn.streams.images", "PermutedMnistSettings"),
    "rotated-mnist": ("everlearn.streams.images", "RotatedMnistSettings"),
    "split-fashion": ("everlearn.streams.images", "SplitFashionSettings"),
    "split-cifar10": ("everlearn.streams.images", "SplitCifar10Settings"),
    "split-cifar100": ("everlearn.streams.images", "SplitCifar100Settings"),
    "split-tiny-imagenet": ("everlearn.streams.images", "SplitTinyImageNetSettings"),
    "imagenet-r": ("everlearn.streams.images", "ImageNetRSettings"),
}


def names() -> tuple[str, ...]:
    """The names of all streams."""
    return tuple(_STREAMS)


def settings_class(name: str) -> type[StreamSettings]:
    """The settings class of a stream; its docstring and fields document the settings."""
    if name not in _STREAMS:
        raise unknown("stream", name, _STREAMS)
    module, class_name = _STREAMS[name]
    return cast("type[StreamSettings]", getattr(importlib.import_module(module), class_name))


def from_mapping(settings: Mapping[str, Any]) -> StreamSettings:
    """The settings in a dictionary, with the name of the stream under "stream"."""
    name = settings.get("stream")
    if not isinstance(name, str):
        raise BadInput(f"the settings do not name a stream; add stream = one of {names()}")
    return settings_class(name)(**{key: value for key, value in settings.items() if key != "stream"})


def from_json(text: str) -> StreamSettings:
    """The settings that `StreamSettings.to_json` wrote."""
    return from_mapping(read_json(text, "the settings"))


def from_toml(text: str) -> StreamSettings:
    """The settings that `StreamSettings.to_toml` wrote."""
    return from_mapping(read_toml(text, "the settings"))


def build(settings: Mapping[str, Any]) -> Stream:
    """Build the stream that a dictionary describes, such as {"stream": "sprites", "n_tasks": 20}."""
    return from_mapping(settings).build()


def builder(settings: Callable[P, StreamSettings]) -> Callable[P, Stream]:
    """A function that builds a stream from keyword arguments, documented and typed as the settings are."""
    model = cast("type[StreamSettings]", settings)

    def stream(*args: P.args, **kwargs: P.kwargs) -> Stream:
        return settings(*args, **kwargs).build()

    arguments = [f"    {name}: {field.description}" for name, field in model.model_fields.items()]
    stream.__name__ = stream.__qualname__ = model.kind
    stream.__module__ = model.__module__
    stream.__doc__ = "\n".join([inspect.cleandoc(model.__doc__ or ""), "", "Args:", *arguments])
    types = get_type_hints(model)  # without pydantic's constraints, which would hide the types
    signature = inspect.signature(model)
    parameters = [p.replace(annotation=types[name]) for name, p in signature.parameters.items()]
    signature = signature.replace(parameters=parameters, return_annotation=Stream)
    stream.__signature__ = signature  # type: ignore[attr-defined]  # functions may have one
    return stream
