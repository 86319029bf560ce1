"""Which run is meant, from the options that choose one."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter, Token

from everlearn.cli.learners import WithLearnerSettings
from everlearn.errors import BadInput
from everlearn.settings import read_settings
from everlearn.streams.images.decode import decode, fitted
from everlearn.streams.stream import Images

if TYPE_CHECKING:
    from everlearn.runs import RunSpec
    from everlearn.streams.stream import Stream


MAX_TASKS = 1_000_000
NUMBER = r"\d{1,15}"
SEVERAL_TASKS = re.compile(f"{NUMBER}(,{NUMBER})*", re.ASCII)
RANGE_OF_TASKS = re.compile(f"({NUMBER})?:{NUMBER}(:{NUMBER})?", re.ASCII)


def read_value(text: str) -> Any:
    """A value as a person writes it: JSON, several values with commas, or plain text.

    Example:
        >>> [read_value(word) for word in ("32", "0.5", "true", "null", "5,8", "blurry", '{"n": 3}')]
        [32, 0.5, True, None, [5, 8], 'blurry', {'n': 3}]
        >>> read_value("[mnist, fashion]")  # what a shell leaves of ["mnist", "fashion"]
        ['mnist', 'fashion']
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise BadInput(
            f"a value of {len(text)} characters is nested too deeply; write it more simply"
        ) from None
    except ValueError:
        is_bracketed = text.startswith("[") and text.endswith("]")
        inside = text[1:-1] if is_bracketed else text
        if (is_bracketed or "," in text) and not set(inside) & set('[]{}"'):
            return [read_value(part.strip()) for part in inside.split(",")]
        return text


def read_assignments(words: Iterable[str], *, such_as: str, implied: str = "") -> dict[str, Any]:
    """Settings written as KEY=VALUE.

    Args:
        words: the settings.
        such_as: an example, for the complaint.
        implied: what a key may begin with, and means if it does not.

    Example:
        >>> read_assignments(["image_size=32", "stream.vertices=5,8"], such_as="a=1", implied="stream.")
        {'image_size': 32, 'vertices': [5, 8]}
    """
    settings: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip().removeprefix(implied).replace("-", "_")
        if not equals or not key:
            raise BadInput(f"--set is {word!r}; write KEY=VALUE, such as {such_as}")
        if key in settings:
            raise BadInput(f"{key!r} is set twice; set it once")
        settings[key] = read_value(value)
    return settings


def read_counts(option: str, text: str, *, such_as: str) -> list[int]:
    """Whole numbers with commas.

    Example:
        >>> read_counts("--new", "10,100", such_as="5")
        [10, 100]
    """
    read = read_value(text)
    counts = read if isinstance(read, list) else [read]
    if not counts or not all(type(n) is int for n in counts):
        raise BadInput(f"{option} is {text!r}; write whole numbers, such as {such_as}")
    return counts


def read_tasks(text: str) -> Sequence[int]:
    """Task numbers as a person writes them: one, several, or a range without its end.

    Example:
        >>> read_tasks("3"), read_tasks("0,7,1000000"), read_tasks("0:10"), read_tasks("0:10:5")
        ([3], [0, 7, 1000000], range(0, 10), range(0, 10, 5))
    """
    tasks: Sequence[int] = ()
    if SEVERAL_TASKS.fullmatch(text):
        tasks = sorted({int(number) for number in text.split(",")})
    elif RANGE_OF_TASKS.fullmatch(text) and not re.search(r":.*:0+$", text):
        tasks = range(*(int(number or 0) for number in text.split(":")))
    if not tasks:
        raise BadInput(
            f"{text!r} names no task; write one number, several such as 0,5,7 or a range such as 0:10"
        )
    if len(tasks) > MAX_TASKS:
        raise BadInput(f"{text!r} names {len(tasks):,} tasks; name at most {MAX_TASKS:,} at a time")
    return tasks


def read_task(text: str) -> int:
    """The number of one task."""
    if not re.fullmatch(NUMBER, text, re.ASCII):
        raise BadInput(f"--task is {text!r}; it must be a whole number from 0 up")
    return int(text)


def read_spec(path: Path) -> dict[str, Any]:
    """The settings in a .toml or .json file."""
    return read_settings(check_path(path))


def check_path(path: Path) -> Path:
    """The path itself, or a complaint if no file can have this name."""
    if "\0" in str(path):
        raise BadInput(f"no file can be called {str(path)!r}; leave out the NUL character")
    return path


def read_whole(_: type[int], tokens: Sequence[Token]) -> int:
    """The number that was written; left to itself, the parser would take 1.5 for 2."""
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=read_whole)]


def read_image(path: Path, shape: tuple[int, ...]) -> Images:
    """The image, fitted into (H, W) gray or (H, W, 3) colour on black, its proportions kept."""
    return fitted(decode(check_path(path).read_bytes(), str(path)), shape)


DEFAULT_KIND = "sprites"
TEXT_FLAGS = ("stream", "scenario", "boundaries", "data")
VALUE_FLAGS = ("seed", "image_size", "classes_per_task", "factor_values")

STREAM = Group("Which stream", sort_key=1)

Text = Annotated[str | None, Parameter(show_default=False, metavar="NAME")]
Value = Annotated[str | None, Parameter(show_default=False, metavar="N")]
Assignments = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, metavar="KEY=VALUE")]
SpecFile = Annotated[Path | None, Parameter(show_default=False, metavar="FILE")]


@dataclass(frozen=True, kw_only=True)
class StreamFlags:
    """Short flags for what is most often set of a stream.

    Each is only another spelling of `--set`: types, defaults and limits are those of the settings model of
    the kind, said once.
    """

    stream: Annotated[Text, Parameter(group=STREAM)] = None
    """The kind of stream, sprites if not said; `everlearn stream list` shows them all."""
    image_size: Annotated[Value, Parameter(group=STREAM)] = None
    """Width and height of the images in pixels."""
    classes_per_task: Annotated[Value, Parameter(group=STREAM)] = None
    """How many classes arrive together."""
    factor_values: Annotated[Value, Parameter(group=STREAM)] = None
    """How many values each factor takes."""
    scenario: Annotated[Text, Parameter(group=STREAM)] = None
    """What changes from task to task, such as class-incremental."""
    boundaries: Annotated[Text, Parameter(group=STREAM)] = None
    """How one task gives way to the next, such as sharp or blurry."""
    data: Annotated[Text, Parameter(group=STREAM, metavar="DIR")] = None
    """The folder with real images; $EVERLEARN_DATA if not said."""


@Parameter(name="*", group=STREAM)
@dataclass(frozen=True, kw_only=True)
class StreamChoice(StreamFlags):
    """The options that choose a stream."""

    seed: Value = None
    """The number from which everything follows."""
    set: Assignments = ()
    """Any setting as KEY=VALUE, as often as needed; `everlearn stream list KIND` shows them all."""
    spec: SpecFile = None
    """A .toml or .json file of settings; the other options change single ones."""
    exported: Annotated[Path | None, Parameter(name="--from", show_default=False, metavar="DIR")] = None
    """A folder written by `everlearn stream export`, instead of settings."""

    def build(self) -> "Stream":
        """The stream that was chosen."""
        settings = self.settings()
        from everlearn import streams

        if self.exported is None:
            return streams.build(settings)
        if self != StreamChoice(exported=self.exported):
            raise BadInput("--from names a finished export, which has its own settings; leave the others out")
        return streams.load(check_path(self.exported))

    def settings(self) -> dict[str, Any]:
        """All settings that were given as one mapping, with the kind under "stream"."""
        given = {name: getattr(self, name) for name in TEXT_FLAGS + VALUE_FLAGS}
        flags = {name: word for name, word in given.items() if word is not None}
        values = {name: read_value(word) if name in VALUE_FLAGS else word for name, word in flags.items()}
        assigned = read_assignments(self.set, such_as="image_size=32", implied="stream.")
        for name in sorted(values.keys() & assigned.keys()):
            raise BadInput(f"{name!r} is given by its own option and by --set; give it once")
        from_file = {} if self.spec is None else read_spec(self.spec)
        return {"stream": DEFAULT_KIND, **from_file, **values, **assigned}


ANY_STREAM = StreamChoice()


HOW = Group("How", sort_key=0)
LEARNER = Group("Which learner", sort_key=3, help_formatter=WithLearnerSettings())

TEXTS = {
    "scenario": "stream.scenario",
    "boundaries": "stream.boundaries",
    "data": "stream.data",
    "device": "device",
    "backbone": "learner.backbone",
    "weights": "learner.weights",
}
VALUES = {
    "tasks": "n_tasks",
    "seed": "seed",
    "epochs": "epochs",
    "batch_size": "batch_size",
    "probe_size": "evaluation.probe_size",
    "image_size": "stream.image_size",
    "classes_per_task": "stream.classes_per_task",
    "factor_values": "stream.factor_values",
    "memory_size": "learner.memory_size",
    "learning_rate": "learner.learning_rate",
}
"""Short flags, each another spelling of a dotted setting: types, defaults and limits are said there."""


@Parameter(name="*", group=HOW)
@dataclass(frozen=True, kw_only=True)
class RunChoice(StreamFlags):
    """The options that choose a run."""

    tasks: Value = None
    """How many tasks to play; all of the stream's if not said, or 20 of an endless one."""
    seed: Value = None
    """Decides the order of images and all that the learner leaves to chance (not the stream: stream.seed)."""
    epochs: Value = None
    """Passes over each task; 1 is online."""
    batch_size: Value = None
    """Images per step."""
    probe_size: Value = None
    """Test images over all tasks seen, each time the learner is judged."""
    device: Text = None
    """Where torch computes: cpu, cuda, cuda:N or mps."""
    set: Assignments = ()
    """Any setting as KEY=VALUE, as often as needed, such as stream.noise=0.1 or learner.memory_size=500."""
    spec: SpecFile = None
    """A .toml or .json file, such as a record's spec.json; the other options change single settings."""
    learner: Annotated[Text, Parameter(group=LEARNER)] = None
    """Who learns, dcl if not said."""
    backbone: Annotated[Text, Parameter(group=LEARNER)] = None
    """The network behind the learner, where it can be chosen: small, pooled, resnet18, mlp, mobile, ..."""
    memory_size: Annotated[Value, Parameter(group=LEARNER)] = None
    """How much of the past is kept, for learners that keep some."""
    learning_rate: Annotated[Value, Parameter(group=LEARNER)] = None
    """The optimiser's step size."""
    weights: Annotated[Text, Parameter(group=LEARNER, metavar="FILE")] = None
    """What a pretrained learner starts from: a .safetensors file with timm's names, or hub:OWNER/NAME."""

    def build(self) -> "RunSpec":
        """The spec that was chosen."""
        given = {**self._texts(), **self._values()}
        assigned = read_assignments(self.set, such_as="stream.image_size=32 or epochs=1")
        for key in sorted(given.keys() & assigned.keys()):
            raise BadInput(f"{key!r} is given by its own option and by --set; give it once")
        written = {} if self.spec is None else _dotted(read_spec(self.spec))
        chosen = {**written, **given, **assigned}
        names = {part: chosen.pop(part) for part in ("stream", "learner") if part in chosen}
        from everlearn.runs import RunSpec

        return RunSpec.make(**names, settings=chosen)

    def _texts(self) -> dict[str, Any]:
        own = {"stream": "stream", "learner": "learner", **TEXTS}
        return {key: getattr(self, flag) for flag, key in own.items() if getattr(self, flag) is not None}

    def _values(self) -> dict[str, Any]:
        given = {key: getattr(self, flag) for flag, key in VALUES.items()}
        return {key: read_value(word) for key, word in given.items() if word is not None}


def _dotted(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec as it is written in a file, as names and dotted settings."""
    from everlearn.settings import check_format

    check_format(spec, "the spec")
    dotted = {key: value for key, value in spec.items() if not isinstance(value, dict) and key != "format"}
    parts = {key: value for key, value in spec.items() if isinstance(value, dict)}
    if "learner" in parts:
        learner = dict(parts.pop("learner"))
        dotted |= {"learner": learner.pop("name")} if "name" in learner else {}
        parts["learner"] = {**learner.pop("settings", {}), **learner}
    if "stream" in parts:
        stream = dict(parts["stream"])
        dotted |= {"stream": stream.pop("stream")} if "stream" in stream else {}
        parts["stream"] = stream
    return dotted | {
        f"{part}.{name}": value for part, inner in parts.items() for name, value in inner.items()
    }


ANY_RUN = RunChoice()
