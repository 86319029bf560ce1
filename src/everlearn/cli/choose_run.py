"""Which run is meant, from the options that choose one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from everlearn.cli.choose import Assignments, SpecFile, StreamFlags, Text, Value
from everlearn.cli.learners import WithLearnerSettings
from everlearn.cli.reading import read_assignments, read_spec, read_value
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.runs import RunSpec

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
    from everlearn.runs.texts import check_format

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


ANY = RunChoice()
