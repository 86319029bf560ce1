"""Deleted records, which can be restored until the trash is emptied."""

import shutil
from pathlib import Path, PurePath
from urllib.parse import quote, unquote

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs import Record
from everlearn.runs.run_record import RecordLock
from everlearn.studio.security import Conflict, NotFound

TRASH = ".trash"
"""The folder of deleted records."""
SEPARATOR = "="
"""Between the quoted name of a record and a number; quoted names do not contain it."""


class Trash:
    """The deleted records of a folder."""

    def __init__(self, root: Path) -> None:
        self._root, self.folder = root, root / TRASH

    def items(self) -> list[dict[str, str]]:
        """The deleted records: the name of each item, and the former name of the record."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            return []
        found = {
            path.name: _record_name(path.name) for path in self.folder.iterdir() if SEPARATOR in path.name
        }
        # A folder that another program put here must not be restored outside the folder of records.
        return [{"item": item, "record": found[item]} for item in sorted(found) if _is_inside(found[item])]

    def add(self, record: Record, name: str) -> None:
        """Move a record, which must not be running, to the trash."""
        if self.folder.is_symlink():
            raise BadInput(f"{TRASH} is a link to another folder; remove it to delete records")
        files.make_folder(self.folder)
        number, quoted = 0, quote(name, safe="")
        while (target := self.folder / f"{quoted}{SEPARATOR}{number}").exists():
            number += 1
        try:
            with RecordLock(record.folder):
                record.folder.rename(target)
        except BadInput:
            raise Conflict("this run is running; stop it before you delete it") from None

    def restore(self, item: str) -> str:
        """Move a record back; returns its name."""
        if item not in [each["item"] for each in self.items()]:
            raise NotFound(f"there is no {item!r:.80} in the trash")
        name = _record_name(item)
        target = self._root / name
        if target.exists():
            raise Conflict(f"there is a record {name} already; rename its folder or delete it first")
        files.make_folder(target.parent)
        (self.folder / item).rename(target)
        return name

    def empty(self) -> int:
        """Erase all deleted records; returns their number."""
        items = self.items()
        for each in items:
            shutil.rmtree(self.folder / each["item"])
        return len(items)


def _is_inside(name: str) -> bool:
    path = PurePath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _record_name(item: str) -> str:
    return unquote(item.rpartition(SEPARATOR)[0])
