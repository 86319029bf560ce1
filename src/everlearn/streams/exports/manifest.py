"""The settings of a stream as an export remembers them."""

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from everlearn.errors import BadInput
from everlearn.files import sha256
from everlearn.streams.registry import from_mapping, kinds
from everlearn.streams.settings import StreamSettings
from everlearn.streams.stream import Stream

FORMAT = 1
MANIFEST = "manifest.json"
PLAN = "plan.json"
README = "README.md"
UNFINISHED = "unfinished"

FormatName = Literal["npz", "png", "parquet", "webdataset"]
PartName = Literal["train", "val", "test", "held_out", "exemplars"]
PARTS: tuple[PartName, ...] = ("train", "val", "test", "held_out", "exemplars")

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
R = TypeVar("R", bound=BaseModel)
Side = Annotated[int, Field(ge=1, le=4096)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PartRecord(_Record):
    """One split of one task, or its exemplars.

    Attributes:
        rows: how many images; without any there is no file.
        image_shape: of each, so that nothing larger is ever unpacked.
        factors: whether the ground truth is known.
        tasks: whether the stream gives the task of each image away.
        sha256: of the part's file; with PNG folders, of the table that lists the images and their sums.
    """

    rows: Annotated[int, Field(ge=0, le=2**31)]
    image_shape: tuple[Side, Side] | tuple[Side, Side, Literal[3]]
    factors: bool
    tasks: bool
    sha256: Sha256 | None

    @property
    def nbytes(self) -> int:
        """More than images and columns can take in any format, so that what is larger need not be read.

        A tar file has the most around each image: three headers and three ends of blocks.
        """
        return self.rows * (2 * math.prod(self.image_shape) + 8192) + 2**20


class TaskRecord(_Record):
    """One task: what `Task` knows, and its parts."""

    index: Annotated[int, Field(ge=0)]
    name: str
    labels: tuple[int, ...]
    ordered: bool
    parts: dict[PartName, PartRecord]


class Plan(_Record):
    """What is to be exported; two exports may share a folder only if they have the same plan.

    Attributes:
        format: version of this layout.
        to: format of the files.
        stream: the id of the stream.
        spec: its settings.
        tasks: numbers of the exported tasks, sorted.
        n_labels: one more than the largest label in them.
    """

    format: int = FORMAT
    to: FormatName
    stream: str
    spec: dict[str, Any]
    tasks: tuple[int, ...]
    n_labels: int

    def differences(self, other: "Plan") -> list[str]:
        """Where two plans differ, for people: 'image_size is 64 there and 32 here'."""
        there, here = self._settings(), other._settings()
        names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
        return [
            f"{name} is {_said(there.get(name))} there and {_said(here.get(name))} here" for name in names
        ]

    def _settings(self) -> dict[str, Any]:
        return {"to": self.to, "id": self.stream, **self.spec, "tasks": self.tasks}


class Manifest(Plan):
    """The plan of a finished export with what came of it; written last.

    Attributes:
        fingerprint: `stream.fingerprint(tasks)` of the exported tasks.
        readme: checksum of README.md.
        contents: the exported tasks, in the order of `tasks`.
        checksum: of all the rest.
    """

    fingerprint: str
    readme: Sha256
    contents: tuple[TaskRecord, ...]
    checksum: str = ""

    def signed(self) -> "Manifest":
        """The same with its checksum."""
        rest = self.model_dump_json(exclude={"checksum"})
        return self.model_copy(update={"checksum": sha256(rest.encode())})

    def is_whole(self) -> bool:
        """Whether it is as it was signed, and tells all about each of its tasks."""
        complete = all(set(record.parts) == set(PARTS) for record in self.contents)
        return complete and self.tasks == tuple(r.index for r in self.contents) and self == self.signed()


def spoken(tasks: tuple[int, ...]) -> str:
    """Task numbers in few words.

    Example:
        >>> spoken((0, 1, 2, 3)), spoken((5,)), spoken((0, 10, 20))
        ('0 to 3', '5', '0, 10, 20')
    """
    if len(tasks) > 2 and tasks == tuple(range(tasks[0], tasks[-1] + 1)):
        return f"{tasks[0]} to {tasks[-1]}"
    return ", ".join(map(str, tasks[:5])) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")


def _said(value: object) -> str:
    return spoken(value) if isinstance(value, tuple) else json.dumps(value)


def task_folder(k: int) -> str:
    """The name of the folder of task k."""
    return f"task-{k:06d}"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished export, or a complaint that says what is there instead."""
    path = folder / MANIFEST
    if not path.is_file():
        raise BadInput(_without_manifest(folder))
    manifest = parse(Manifest, path)
    if not manifest.is_whole():
        raise damaged(path)
    return manifest


def parse(kind: type[R], path: Path) -> R:
    """A record from its file, or a complaint that it is damaged or from a newer everlearn."""
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
    """The complaint about a file that is not as it was written."""
    return BadInput(f"{path} is damaged; delete {path.parent} and export again")


def _without_manifest(folder: Path) -> str:
    if not folder.exists():
        return f"there is no folder {folder}; give one that `export` has written"
    if (folder / UNFINISHED).is_dir():
        return f"{folder} is an unfinished export; run the same export again to finish it"
    return f"{folder} is not an export (no {MANIFEST} in it); give a folder that `export` has written"


class Remembered(StreamSettings):
    """The settings of a kind of stream that is not known here.

    Somebody's own stream can be exported, and read where its code is not installed; only building it anew
    is impossible.
    """

    model_config = ConfigDict(extra="allow")

    stream: str
    """The kind."""

    def build(self) -> Stream:
        """Complain: an unknown kind cannot be built."""
        raise BadInput(f"the stream {self.stream!r} is not known here; only its exports can be loaded")

    def to_mapping(self) -> dict[str, Any]:
        """The settings as they were written."""
        return self.model_dump(mode="json")


def spec_from(spec: dict[str, Any]) -> StreamSettings:
    """The settings that `to_mapping` gave."""
    return from_mapping(spec) if spec.get("stream") in kinds() else Remembered(**spec)
