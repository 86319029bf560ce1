"""Options that several commands share, and parsing of their values."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter, Token

from everlearn import runs
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.streams.stream import Images, Stream

MAX_TASKS = 1_000_000
NUMBER = r"\d{1,15}"
TASK_LIST = re.compile(f"{NUMBER}(,{NUMBER})*", re.ASCII)
TASK_RANGE = re.compile(f"({NUMBER})?:{NUMBER}(:{NUMBER})?", re.ASCII)

RUN = Group("Run", sort_key=0)
STREAM = Group("Stream", sort_key=1)
LEARNER = Group("Learner", sort_key=2, help="`everlearn learners NAME` lists all settings of a learner.")

STREAM_TEXTS = ("scenario", "boundaries", "data")
STREAM_VALUES = ("image_size", "classes_per_task", "factor_values")
RUN_TEXTS = {
    "device": "device",
    "backbone": "learner.backbone",
    "weights": "learner.weights",
    **{name: f"stream.{name}" for name in STREAM_TEXTS},
}
RUN_VALUES = {
    "tasks": "n_tasks",
    "seed": "seed",
    "epochs": "epochs",
    "batch_size": "batch_size",
    "threads": "threads",
    "eval_images": "evaluation.n_images",
    "memory_size": "learner.memory_size",
    "learning_rate": "learner.learning_rate",
    **{name: f"stream.{name}" for name in STREAM_VALUES},
}
"""Options and the dotted settings that they set; types and bounds are those of the settings."""


def read_integer(_: type[int], tokens: Sequence[Token]) -> int:
    """The integer that was written; the parser itself would round 1.5."""
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=read_integer)]
Text = Annotated[str | None, Parameter(show_default=False, metavar="NAME")]
Value = Annotated[str | None, Parameter(show_default=False, metavar="N")]
Assignments = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, metavar="KEY=VALUE")]
SpecFile = Annotated[Path | None, Parameter(show_default=False, metavar="FILE")]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """Options for the most common settings of a stream."""

    stream: Annotated[Text, Parameter(group=STREAM)] = None
    """Kind of stream, also as file.py:function; default: sprites. `everlearn stream list` shows all."""
    image_size: Annotated[Value, Parameter(group=STREAM)] = None
    """Width and height of images in pixels."""
    classes_per_task: Annotated[Value, Parameter(group=STREAM)] = None
    """Number of classes per task."""
    factor_values: Annotated[Value, Parameter(group=STREAM)] = None
    """Number of values of each factor."""
    scenario: Annotated[Text, Parameter(group=STREAM)] = None
    """What changes between tasks, such as class-incremental."""
    boundaries: Annotated[Text, Parameter(group=STREAM)] = None
    """Boundaries between tasks, such as sharp or blurry."""
    data: Annotated[Text, Parameter(group=STREAM, metavar="DIR")] = None
    """Folder of datasets; default: $EVERLEARN_DATA."""


@Parameter(name="*", group=STREAM)
@dataclass(frozen=True, kw_only=True)
class StreamChoice(StreamOptions):
    """Options that select a stream."""

    seed: Value = None
    """Seed of the stream."""
    set: Assignments = ()
    """Any setting, repeatable; `everlearn stream list KIND` shows all."""
    spec: SpecFile = None
    """A .toml or .json file of settings; other options take precedence."""
    exported: Annotated[Path | None, Parameter(name="--from", show_default=False, metavar="DIR")] = None
    """A folder written by `everlearn stream export`, instead of settings."""

    def build(self) -> "Stream":
        """The selected stream."""
        settings = self.settings()
        from everlearn import streams

        if self.exported is None:
            return streams.build(settings)
        if self != StreamChoice(exported=self.exported):
            raise BadInput("--from is an export with its own settings; omit other options of the stream")
        return streams.load(check_path(self.exported))

    def settings(self) -> dict[str, Any]:
        """All given settings, with the kind under "stream"."""
        values = _given(self, {name: name for name in ("stream", *STREAM_TEXTS)})
        values |= _given(self, {name: name for name in ("seed", *STREAM_VALUES)}, parse=True)
        assigned = read_assignments(self.set, example="image_size=32", section="stream.")
        return {"stream": "sprites", **_read_spec(self.spec), **_merge(values, assigned)}


@Parameter(name="*", group=RUN)
@dataclass(frozen=True, kw_only=True)
class RunChoice(StreamOptions):
    """Options that select a run."""

    tasks: Value = None
    """Number of tasks; default: all of the stream, 20 of an infinite one."""
    seed: Value = None
    """Seed of the order of images and of the learner; the stream has stream.seed."""
    epochs: Value = None
    """Passes over each task; default: 1 (online learning)."""
    batch_size: Value = None
    """Images per training step; default: 64."""
    eval_images: Value = None
    """Test images per evaluation, over all tasks seen; default: 1000."""
    device: Text = None
    """auto (default: cuda or mps if there is one), cpu, cuda, cuda:N or mps."""
    amp: Flag = False
    """Train in mixed precision; faster on processors and GPUs with bfloat16, less exact."""
    threads: Value = None
    """CPU threads of torch; default: 1 for small networks, else measured at the start."""
    set: Assignments = ()
    """Any setting, repeatable, such as stream.noise=0.1 or learner.memory_size=500."""
    spec: SpecFile = None
    """A .toml or .json file, such as a record's spec.json; other options take precedence."""
    learner: Annotated[Text, Parameter(group=LEARNER)] = None
    """The learner, also as file.py:Class or package.module:Class; default: dcl."""
    backbone: Annotated[Text, Parameter(group=LEARNER)] = None
    """The network, for learners that have a choice, such as small or resnet18."""
    memory_size: Annotated[Value, Parameter(group=LEARNER)] = None
    """Size of the replay buffer or exemplar memory."""
    learning_rate: Annotated[Value, Parameter(group=LEARNER)] = None
    """Learning rate of the optimizer."""
    weights: Annotated[Text, Parameter(group=LEARNER, metavar="FILE")] = None
    """Pretrained weights: a .safetensors file, imagenet, or hub:OWNER/NAME for l2p."""

    def build(self) -> "runs.RunSpec":
        """The selected run."""
        values = _given(self, {"stream": "stream", "learner": "learner", **RUN_TEXTS})
        values |= _given(self, RUN_VALUES, parse=True) | ({"amp": True} if self.amp else {})
        assigned = read_assignments(self.set, example="stream.image_size=32 or epochs=1")
        chosen = {**_spec_settings(_read_spec(self.spec)), **_merge(values, assigned)}
        names = {part: chosen.pop(part) for part in ("stream", "learner") if part in chosen}

        return runs.RunSpec.make(**names, settings=chosen)


ANY_STREAM, ANY_RUN = StreamChoice(), RunChoice()


def _given(options: StreamOptions, names: dict[str, str], *, parse: bool = False) -> dict[str, Any]:
    """The options that were given, by the names of their settings."""
    given = {name: getattr(options, option) for option, name in names.items()}
    return {name: read_value(value) if parse else value for name, value in given.items() if value is not None}


def _merge(values: dict[str, Any], assigned: dict[str, Any]) -> dict[str, Any]:
    for name in sorted(values.keys() & assigned.keys()):
        raise BadInput(f"{name!r} is given by its own option and by --set; give it once")
    return {**values, **assigned}


def _read_spec(path: Path | None) -> dict[str, Any]:
    return {} if path is None else read_spec(path)


def _spec_settings(spec: dict[str, Any]) -> dict[str, Any]:
    """Names and dotted settings from a run's spec, in which a learner has a name and a table of settings."""
    from everlearn.runs.spec import SECTIONS
    from everlearn.settings import check_format, to_dotted

    check_format(spec, "the spec")
    spec = {name: value for name, value in spec.items() if name != "format"}
    if isinstance(spec.get("learner"), dict):
        learner = dict(spec["learner"])
        if not isinstance(settings := learner.pop("settings", {}), dict):
            raise BadInput(f"learner.settings is {settings!r:.60}; it must be a table of settings")
        spec["learner"] = {**settings, **learner}
    dotted = to_dotted(spec, SECTIONS)
    names = {"stream": "stream.stream", "learner": "learner.name"}
    return dotted | {part: dotted.pop(name) for part, name in names.items() if name in dotted}


def read_spec(path: Path) -> dict[str, Any]:
    """The settings in a .toml or .json file."""
    from everlearn.settings import read_settings

    return read_settings(check_path(path))


def read_value(text: str) -> Any:
    """A value from the command line: JSON, several values with commas, or plain text.

    Example:
        >>> [read_value(word) for word in ("32", "0.5", "true", "null", "5,8", "blurry", '{"n": 3}')]
        [32, 0.5, True, None, [5, 8], 'blurry', {'n': 3}]
        >>> read_value("[mnist, fashion]")  # what a shell leaves of ["mnist", "fashion"]
        ['mnist', 'fashion']
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise BadInput(f"a value of {len(text)} characters is nested too deeply; simplify it") from None
    except ValueError:
        is_bracketed = text.startswith("[") and text.endswith("]")
        inside = text[1:-1] if is_bracketed else text
        if (is_bracketed or "," in text) and not set(inside) & set('[]{}"'):
            return [read_value(part.strip()) for part in inside.split(",")]
        return text


def read_assignments(words: Iterable[str], *, example: str, section: str = "") -> dict[str, Any]:
    """Settings written as KEY=VALUE; keys may have or omit the prefix `section`.

    Example:
        >>> read_assignments(["image_size=32", "stream.vertices=5,8"], example="a=1", section="stream.")
        {'image_size': 32, 'vertices': [5, 8]}
    """
    settings: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip().removeprefix(section).replace("-", "_")
        if not equals or not key:
            raise BadInput(f"--set is {word!r}; write KEY=VALUE, such as {example}")
        if key in settings:
            raise BadInput(f"{key!r} is set twice; set it once")
        settings[key] = read_value(value)
    return settings


def read_counts(option: str, text: str, *, example: str) -> list[int]:
    """Integers separated by commas.

    Example:
        >>> read_counts("--new", "10,100", example="5")
        [10, 100]
    """
    value = read_value(text)
    counts = value if isinstance(value, list) else [value]
    if not counts or not all(type(n) is int for n in counts):
        raise BadInput(f"{option} is {text!r}; write whole numbers, such as {example}")
    return counts


def read_tasks(text: str) -> Sequence[int]:
    """Task indices: one, several with commas, or a range without its end.

    Example:
        >>> read_tasks("3"), read_tasks("0,7,1000000"), read_tasks("0:10"), read_tasks("0:10:5")
        ([3], [0, 7, 1000000], range(0, 10), range(0, 10, 5))
    """
    tasks: Sequence[int] = ()
    if TASK_LIST.fullmatch(text):
        tasks = sorted({int(number) for number in text.split(",")})
    elif TASK_RANGE.fullmatch(text) and not re.search(r":.*:0+$", text):
        tasks = range(*(int(number or 0) for number in text.split(":")))
    if not tasks:
        raise BadInput(
            f"{text!r} selects no task; write a number, a list such as 0,5,7 or a range such as 0:10"
        )
    if len(tasks) > MAX_TASKS:
        raise BadInput(f"{text!r} selects {len(tasks):,} tasks; select at most {MAX_TASKS:,}")
    return tasks


def read_task(text: str) -> int:
    """The index of one task."""
    if not re.fullmatch(NUMBER, text, re.ASCII):
        raise BadInput(f"--task is {text!r}; it must be a whole number of at least 0")
    return int(text)


def check_path(path: Path) -> Path:
    """The path; raises an error if it contains NUL."""
    if "\0" in str(path):
        raise BadInput(f"{str(path)!r} is not a valid path; remove the NUL character")
    return path


def read_image(path: Path, shape: tuple[int, ...]) -> "Images":
    """An image file, scaled to fit into (H, W) gray or (H, W, 3) color on black."""
    from everlearn.streams.images.decode import decode, fitted

    return fitted(decode(check_path(path).read_bytes(), str(path)), shape)
