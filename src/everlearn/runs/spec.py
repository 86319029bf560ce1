"""Specification of a run: stream, learner, training and evaluation settings."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_serializer, field_validator

from everlearn import learners, streams
from everlearn.errors import BadInput
from everlearn.files import sha256
from everlearn.learners import Learner
from everlearn.networks.backbones import BACKBONES
from everlearn.registry import add_sources, is_reference
from everlearn.rng import MAX_SEED
from everlearn.settings import FORMAT, Settings, check_format, from_dotted, read_json, read_toml, write_toml
from everlearn.streams.settings import StreamSettings

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from everlearn.runs.run_record import Record, RecordLock

SECTIONS = ("stream", "learner", "evaluation")


class LearnerSpec(Settings):
    """A learner's name and all of its settings."""

    kind: ClassVar[str] = "learner"

    name: str = "dcl"
    """short name of the learner"""
    settings: dict[str, Any] = Field(default_factory=dict)
    """its settings; defaults are filled in"""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        learners.learner_class(name)
        return name

    @field_validator("settings")
    @classmethod
    def _complete(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        return learners.complete(info.data["name"], settings) if "name" in info.data else settings

    @field_serializer("settings")
    def _write(self, settings: dict[str, Any]) -> dict[str, Any]:
        return learners.written(self.name, settings)


class Evaluation(Settings):
    """When and on how many images a learner is evaluated."""

    kind: ClassVar[str] = "evaluation"

    n_images: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    """test images over all tasks seen so far; for probes, of each environment"""
    n_probe_images: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """training images of each environment for fitting probes; default: 5 validation images per test image"""
    n_final_images: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """test images of the last evaluation; default: n_images"""
    every_n_tasks: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    """evaluate after every N tasks, and after the last"""
    every_n_batches: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    """also evaluate within tasks after every N batches; 0: never"""
    forward_transfer: bool = True
    """also evaluate each task before training on it"""


class RunSpec(Settings):
    """Everything that determines a run; equal specs give equal runs.

    Example:
        >>> spec = RunSpec.make(stream="sprites", learner="er", settings={"learner.memory_size": 500})
        >>> spec.learner.settings["memory_size"], spec.learner.settings["replay_size"]
        (500, 64)
        >>> RunSpec.from_toml(spec.to_toml()) == RunSpec.from_json(spec.to_json()) == spec
        True
    """

    kind: ClassVar[str] = "run"

    stream: SerializeAsAny[StreamSettings]
    """the stream"""
    learner: LearnerSpec = Field(default_factory=LearnerSpec)
    """the learner"""
    n_tasks: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """number of tasks; default: all of the stream, 20 of an infinite stream"""
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 1
    """passes over each task; 1 is online learning"""
    batch_size: Annotated[int, Field(ge=1, le=65_536)] = 64
    """images per training step"""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """seed of the order of images and of the learner"""
    device: str = "auto"
    """torch device: auto (cuda or mps if there is one), cpu, cuda, cuda:N or mps"""
    amp: bool = False
    """train in mixed precision, bfloat16 and float32, on cpu or cuda"""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """CPU threads of torch; default: 1 for small networks, else what a measurement at the start chooses"""
    evaluation: Evaluation = Evaluation()
    """when and on how many images the learner is evaluated"""

    @classmethod
    def make(
        cls, *, stream: str = "sprites", learner: str = "dcl", settings: Mapping[str, Any] | None = None
    ) -> Self:
        """Build a spec from names and dotted settings, such as {"stream.image_size": 32, "epochs": 1}."""
        nested = from_dotted(settings or {}, SECTIONS)
        nested["stream"] = {"stream": stream, **nested["stream"]}
        nested["learner"] = {"name": learner, "settings": nested["learner"]}
        return cls(**nested)

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> Self:
        """Read a spec from a plain dictionary; one with a format is a stored spec, see `Setting.before`."""
        check_format(settings, "the spec")
        given = {name: value for name, value in settings.items() if name != "format"}
        if "format" in settings and isinstance(learner := given.get("learner"), Mapping):
            given["learner"] = _as_written(learner)
        if "format" in settings and isinstance(stream := given.get("stream"), Mapping):
            given["stream"] = streams.as_written(stream)
        return cls(**given)

    @classmethod
    def from_record(cls, record: "Record") -> Self:
        """The spec of a record; components from outside are searched where they were when it was created."""
        add_sources(record.sources)
        if record.spec["stream"].get("content"):
            from everlearn.streams.images.arrays import add_content_folder

            add_content_folder(record.folder)
        return cls.from_mapping(record.spec)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a spec from JSON."""
        return cls.from_mapping(read_json(text, "the spec"))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a spec from TOML."""
        return cls.from_mapping(read_toml(text, "the spec"))

    def to_mapping(self) -> dict[str, Any]:
        """The spec as a plain dictionary."""
        values = {"format": FORMAT, **self.model_dump(mode="json")}
        if self.evaluation.n_final_images is None:
            del values["evaluation"]["n_final_images"]
        unused = {"amp": not self.amp, "threads": self.threads is None}
        # Specs from before these settings existed keep their hash.
        return {name: value for name, value in values.items() if not unused.get(name)}

    def to_json(self) -> str:
        """The spec as JSON."""
        return json.dumps(self.to_mapping(), sort_keys=True, indent=1)

    def to_toml(self) -> str:
        """The spec as TOML, without settings that are None."""
        return write_toml(self.to_mapping())

    @property
    def title(self) -> str:
        """Default name of the run."""
        return f"{self.learner.name} {self.stream.kind} seed {self.seed}"

    @property
    def hash(self) -> str:
        """Hash of the whole spec."""
        return sha256(self.to_json().encode())

    def sources(self) -> dict[str, dict[str, str]]:
        """Origins of the components from outside the package, by reference."""
        backbone = self.learner.settings.get("backbone")
        references = {
            self.learner.name: learners.REGISTRY,
            self.stream.reference or self.stream.kind: streams.REGISTRY,
            **({backbone: BACKBONES} if isinstance(backbone, str) and is_reference(backbone) else {}),
        }
        found = {name: registry.source(name) for name, registry in references.items()}
        return {name: source._asdict() for name, source in found.items() if source is not None}

    def create_record(self, folder: "Path", name: str | None = None) -> "RecordLock":
        """Create the record of this run, with the locations of its components and its in-memory data."""
        from everlearn.runs.run_record import create_record

        return create_record(folder, self.to_json(), name, self.sources(), self._save_data)

    def _save_data(self, folder: "Path") -> None:
        """Write images that exist only in memory."""
        if getattr(self.stream, "content", None):
            from everlearn.streams.images.arrays import add_content_folder, save_content

            save_content(self.stream, folder)
            add_content_folder(folder)

    def build_learner(self, image_shape: tuple[int, ...], device: "torch.device | None" = None) -> Learner:
        """Build an untrained learner for images of a shape, on the CPU, and move it to a device."""
        learner = learners.build(
            self.learner.name, image_shape=image_shape, seed=self.seed, **self.learner.settings
        )
        return learner if device is None or device.type == "cpu" else learner.to(device)

    @field_validator("stream", mode="before")
    @classmethod
    def _read_stream(cls, stream: Any) -> Any:
        if isinstance(stream, str):
            stream = {"stream": stream}
        return streams.from_mapping(stream) if isinstance(stream, Mapping) else streams.with_reference(stream)

    @field_validator("learner", mode="before")
    @classmethod
    def _read_learner(cls, learner: Any) -> Any:
        return {"name": learner} if isinstance(learner, str) else learner

    @field_validator("device")
    @classmethod
    def _read_device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?|mps", device, re.ASCII):
            raise BadInput(f"device is {device!r:.40}; it must be auto, cpu, cuda, cuda:N or mps")
        return device

    @field_serializer("stream")
    def _write_stream(self, stream: StreamSettings) -> dict[str, Any]:
        return stream.to_stored()


def _as_written(learner: Mapping[str, Any]) -> Mapping[str, Any]:
    """A learner and its settings as a stored spec means them."""
    name, settings = learner.get("name", "dcl"), learner.get("settings", {})
    if not isinstance(name, str) or not isinstance(settings, Mapping):
        return learner  # validation raises the error
    return {**learner, "settings": learners.as_written(name, settings)}
