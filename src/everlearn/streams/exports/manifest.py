"""The manifest of an export: plan, contents and checksums."""

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from everlearn.errors import BadInput
from everlearn.files import sha256
from everlearn.streams.registry import as_written, from_mapping, names
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream

FORMAT = 1
MANIFEST = "manifest.json"
PLAN = "plan.json"
README = "README.md"
UNFINISHED = "unfinished"

FormatName = Annotated[str, Field(max_length=500)]
"""A name or reference of `everlearn.streams.exports.FORMATS`."""
PartName = Literal["train", "val", "test", "held_out", "exemplars"]
PARTS: tuple[PartName, ...] = ("train", "val", "test", "held_out", "exemplars")

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
R = TypeVar("R", bound=BaseModel)
Side = Annotated[int, Field(ge=1, le=4096)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PartRecord(_Record):
    """One split of one task, or its exemplars; the checksum is that of the main file, if it has images."""

    rows: Annotated[int, Field(ge=0, le=2**31)]
    image_shape: tuple[Side, Side] | tuple[Side, Side, Literal[3]]
    factors: bool
    tasks: bool
    sha256: Sha256 | None

    @property
    def nbytes(self) -> int:
        """An upper bound of the file size in any format; tar files have the largest overhead per image."""
        return self.rows * (2 * math.prod(self.image_shape) + 8192) + 2**20


class TaskRecord(_Record):
    """One task: the attributes of `Task`, and its parts."""

    index: Annotated[int, Field(ge=0)]
    name: str
    labels: tuple[int, ...]
    ordered: bool
    parts: dict[PartName, PartRecord]


class ExportPlan(_Record):
    """The plan of an export, which can be resumed only with an equal plan.

    `format` is the version of this layout, `to` the file format, `n_labels` one more than the largest label.
    """

    format: int = FORMAT
    to: FormatName
    stream: str
    spec: dict[str, Any]
    tasks: tuple[int, ...]
    n_labels: int

    def summary(self) -> dict[str, Any]:
        """The values that distinguish two plans: format, stream, settings and tasks."""
        return {"to": self.to, "id": self.stream, **self.spec, "tasks": format_tasks(self.tasks)}


class Manifest(ExportPlan):
    """The plan and contents of a finished export, with checksums of its README and of all other fields."""

    fingerprint: str
    readme: Sha256
    contents: tuple[TaskRecord, ...]
    checksum: str = ""

    def with_checksum(self) -> "Manifest":
        """The same manifest with its checksum."""
        rest = self.model_dump_json(exclude={"checksum"})
        return self.model_copy(update={"checksum": sha256(rest.encode())})

    def is_valid(self) -> bool:
        """Whether the checksum is right and all tasks and parts are listed."""
        listed = all(set(record.parts) == set(PARTS) for record in self.contents)
        return listed and self.tasks == tuple(r.index for r in self.contents) and self == self.with_checksum()


def format_tasks(tasks: tuple[int, ...]) -> str:
    """Task indices as short text: "0 to 3", "0, 10, 20"."""
    if len(tasks) > 2 and tasks == tuple(range(tasks[0], tasks[-1] + 1)):
        return f"{tasks[0]} to {tasks[-1]}"
    return ", ".join(map(str, tasks[:5])) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")


def task_folder(k: int) -> str:
    """The name of the folder of task k."""
    return f"task-{k:06d}"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished export."""
    path = folder / MANIFEST
    if not folder.exists():
        raise BadInput(f"there is no folder {folder}; give one that `export` has written")
    if not path.is_file() and (folder / UNFINISHED).is_dir():
        raise BadInput(f"{folder} is an unfinished export; run the same export again to finish it")
    if not path.is_file():
        raise BadInput(f"{folder} is not an export (no {MANIFEST} in it); give one that `export` has written")
    manifest = parse(Manifest, path)
    if not manifest.is_valid():
        raise damaged(path)
    return manifest


def parse(kind: type[R], path: Path) -> R:
    """Read a model from a JSON file; a damaged file or another format is an error."""
    try:
        content = json.loads(path.read_bytes())
        found = content.get("format", FORMAT)
        if found != FORMAT:
            raise BadInput(
                f"{path} has format {found} and this everlearn reads {FORMAT}; use the other version"
            )
        return kind.model_validate(content)
    except (ValidationError, UnicodeDecodeError, json.JSONDecodeError, AttributeError):
        raise damaged(path) from None


def damaged(path: Path) -> BadInput:
    """The error for a damaged file."""
    return BadInput(f"{path} is damaged; delete {path.parent} and export again")


class UnknownSettings(StreamSettings):
    """Settings of a stream whose code is not installed: its exports can be loaded, but it cannot be built."""

    model_config = ConfigDict(extra="allow")

    stream: str
    """name of the stream"""

    def build(self) -> Stream:
        raise BadInput(f"the stream {self.stream!r} is not known here; only its exports can be loaded")

    def to_mapping(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def spec_from(spec: dict[str, Any]) -> StreamSettings:
    """The settings in a mapping that `to_stored` returned."""
    return from_mapping(as_written(spec)) if spec.get("stream") in names() else UnknownSettings(**spec)
