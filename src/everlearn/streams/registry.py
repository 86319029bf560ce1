"""The registry of streams: settings classes by name, imported on first use."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, ParamSpec, cast, get_type_hints

from pydantic import create_model

from everlearn.errors import BadInput
from everlearn.registry import Registry
from everlearn.settings import read_json, read_toml
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream

P = ParamSpec("P")

_STREAMS = {
    "sprites": ("everlearn.streams.sprite_stream", "SpriteSettings"),
    "sprites-50": ("everlearn.streams.sprite_sessions", "SpriteSessionSettings"),
    "environments": ("everlearn.streams.environment_stream", "EnvironmentSettings"),
    "mnist": ("everlearn.streams.images", "MnistSettings"),
    "fashion": ("everlearn.streams.images", "FashionSettings"),
    "omniglot": ("everlearn.streams.images", "OmniglotSettings"),
    "folder": ("everlearn.streams.images", "FolderSettings"),
    "core50": ("everlearn.streams.images", "Core50Settings"),
    "cifar-50": ("everlearn.streams.images", "Cifar50Settings"),
    "objects-50": ("everlearn.streams.images", "Objects50Settings"),
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


REGISTRY = Registry(
    kind="stream",
    group="everlearn.streams",
    builtin={name: f"{module}:{class_name}" for name, (module, class_name) in _STREAMS.items()},
    expected="a subclass of everlearn.streams.StreamSettings or a function that builds a Stream",
    accepts=callable,
)


def names() -> tuple[str, ...]:
    """The names of all streams, of this and of installed packages.

    Example:
        >>> "sprites" in names() and "split-cifar100" in names()
        True
    """
    return tuple(REGISTRY.names())


def settings_class(name: str) -> type[StreamSettings]:
    """The settings class of a stream; its docstring and fields document the settings.

    A stream from outside is a subclass of `StreamSettings`, or a function or class that builds a `Stream`,
    whose arguments are the settings.

    Example:
        >>> field = settings_class("sprites").model_fields["image_size"]
        >>> field.default, field.description
        (64, 'height and width in pixels, 16 to 512')
    """
    component = REGISTRY.get(name)
    if name in REGISTRY.builtin:
        return cast("type[StreamSettings]", component)
    return _outside(component, name)


@cache
def _outside(component: Any, reference: str) -> type[StreamSettings]:
    if inspect.isclass(component) and issubclass(component, StreamSettings):
        model: type[StreamSettings] = type(component.__name__, (component,), {"__doc__": component.__doc__})
    else:
        model = _model_of_function(component, reference)
    model.reference = reference
    return model


def _model_of_function(function: Any, reference: str) -> type[StreamSettings]:
    """Settings whose fields are the arguments of a function that builds a stream."""
    fields: dict[str, Any] = {}
    hints = get_type_hints(function.__init__ if inspect.isclass(function) else function)
    for name, each in inspect.signature(function).parameters.items():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise BadInput(f"{reference} has the argument {each}; settings are named arguments with defaults")
        fields[name] = (hints.get(name, Any), ... if each.default is each.empty else each.default)
    model = create_model(
        function.__name__, __base__=FunctionSettings, __doc__=inspect.getdoc(function), **fields
    )
    model.kind, model.function = function.__name__.replace("_", "-"), staticmethod(function)
    return model


class FunctionSettings(StreamSettings):
    """The arguments of a function that builds a stream."""

    function: ClassVar[Any]

    def build(self) -> Stream:
        stream = self.function(**{name: getattr(self, name) for name in type(self).model_fields})
        if not isinstance(stream, Stream):
            raise BadInput(
                f"{self.reference} returned {type(stream).__name__}; return an everlearn.streams.Stream"
            )
        stream.spec = self
        return stream


def with_reference(settings: Any) -> Any:
    """Settings from outside the package as an instance of a class with a `reference` to import them by.

    Example:
        >>> class OwnSettings(StreamSettings):
        ...     "Settings of a stream of your own."
        ...     kind = "own"
        ...     def build(self): ...
        >>> with_reference(OwnSettings()).reference.endswith(":OwnSettings")
        True
    """
    cls = type(settings)
    if not isinstance(settings, StreamSettings) or cls.reference or settings.kind in REGISTRY.builtin:
        return settings
    return settings_class(REGISTRY.reference(cls)).model_construct(**dict(settings))


def from_mapping(settings: Mapping[str, Any]) -> StreamSettings:
    """The settings in a dictionary, with the name of the stream under "stream".

    Example:
        >>> from_mapping({"stream": "split-cifar100", "class_order": "icarl"}).classes_per_task
        10
    """
    name = settings.get("stream") if isinstance(settings, Mapping) else None
    if not isinstance(name, str):
        raise BadInput(f"the settings {settings!r:.80} do not name a stream; add stream = one of {names()}")
    return settings_class(name)(**{key: value for key, value in settings.items() if key != "stream"})


def as_written(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a stored spec; `late` settings that it omits have their earlier value.

    Example:
        >>> as_written({"stream": "folder", "n_poses": 10})
        {'cut_out': False, 'stream': 'folder', 'n_poses': 10}
    """
    name = settings.get("stream")
    late = settings_class(name).late if isinstance(name, str) else {}
    return {**late, **settings}


def from_json(text: str) -> StreamSettings:
    """The settings that `StreamSettings.to_json` wrote.

    Example:
        >>> from_json('{"stream": "sprites", "image_size": 32}').image_size
        32
    """
    return from_mapping(read_json(text, "the settings"))


def from_toml(text: str) -> StreamSettings:
    """The settings that `StreamSettings.to_toml` wrote.

    Example:
        >>> from_toml('stream = "sprites-50"').build()
        <sprites-50/nc-v1: 9 tasks>
    """
    return from_mapping(read_toml(text, "the settings"))


def build(settings: Mapping[str, Any]) -> Stream:
    """Build the stream that a dictionary describes, such as {"stream": "sprites", "n_tasks": 20}.

    Example:
        >>> build({"stream": "sprites", "n_tasks": 20})
        <sprites/class-incremental-v1: 20 tasks>
    """
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
