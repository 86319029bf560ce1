"""Which stream is meant, from the options that choose one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from everlearn.cli.reading import check_path, read_assignments, read_spec, read_value
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.streams.stream import Stream

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


ANY = StreamChoice()
