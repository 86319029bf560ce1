"""Name, tags and note that users give a record."""

import json
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs import Record
from everlearn.runs.run_record import NAME, check_name

NOTES = "notes.json"
MAX_TAGS, MAX_TAG, MAX_NOTE = 20, 40, 10_000


@dataclass(frozen=True)
class Notes:
    """Tags and a note."""

    tags: tuple[str, ...] = ()  # words without spaces
    note: str = ""  # text of several lines

    def __post_init__(self) -> None:
        if len(self.tags) > MAX_TAGS or len(self.note) > MAX_NOTE:
            raise BadInput(f"there may be {MAX_TAGS} tags and a note of {MAX_NOTE:,} characters; use fewer")
        for tag in self.tags:
            if not 0 < len(tag) <= MAX_TAG or any(letter.isspace() or _is_control(letter) for letter in tag):
                raise BadInput(f"{tag!r:.60} is not a tag; use a word of up to {MAX_TAG} characters")


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")


def read_notes(folder: Path) -> Notes:
    """The notes of a record; empty if there are none or if they are damaged."""
    try:
        found = json.loads((folder / NOTES).read_text("utf-8"))
        return Notes(tuple(map(str, found["tags"])), str(found["note"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Notes()


def write_notes(record: Record, name: str, notes: Notes) -> None:
    """Write the name and the notes of a record; without a name, the name of its folder is shown."""
    check_name(name)
    _write_or_remove(record.folder / NAME, name)
    is_empty = notes == Notes()
    _write_or_remove(record.folder / NOTES, "" if is_empty else json.dumps(asdict(notes), indent=1))


def _write_or_remove(path: Path, text: str) -> None:
    if text:
        files.write(path, text.encode() + b"\n")
    else:
        path.unlink(missing_ok=True)
