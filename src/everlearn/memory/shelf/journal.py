"""The last edit of a shelf, written down before it is done and done again when the shelf is opened."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput


@dataclass(frozen=True)
class Edit:
    """What some rows hold from now on.

    Doing it twice is the same as doing it once, so a shelf that may have been stopped in the middle of its
    last edit does it again.

    Attributes:
        rows: which, rising.
        labels: the class each belongs to; -1 for a row that is erased.
        names: what people call the class of each; "" if nobody gave it a name.
    """

    rows: list[int]
    labels: list[int]
    names: list[str]

    @classmethod
    def erasing(cls, rows: list[int]) -> "Edit":
        """The edit that leaves nothing in some rows."""
        return cls(rows, [-1] * len(rows), [""] * len(rows))


class Journal:
    """Keeps one edit, the last; what was said of earlier ones is overwritten.

    Args:
        path: the file it is kept in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, edit: Edit) -> None:
        """From here on the edit will be done, now or when the shelf is opened next."""
        files.write(self.path, json.dumps(asdict(edit)).encode())

    def read(self) -> Edit:
        """The last edit; one of no rows if there was none."""
        if not self.path.exists():
            return Edit.erasing([])
        try:
            return Edit(**json.loads(self.path.read_bytes()))
        except (ValueError, TypeError):
            raise BadInput(f"{self.path} is damaged; use a copy of the shelf") from None
