"""Checkpoints: the newest two, each a safetensors file and its checksum, `sha256sum -c` can verify them.

The checksum file is written last and makes the checkpoint valid. A checkpoint that does not verify is
passed over for the one before it, with a word.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs.state import Tree, pack, unpack

KEPT = 2
FORMAT = 1


class DamagedCheckpoint(UserWarning):
    """A checkpoint did not verify and an older one was used."""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints in a folder.

    Args:
        folder: where they lie; made when the first is saved.
        run: the hash of the run they belong to; those of another run are refused.
    """

    folder: Path
    run: str

    def save(self, number: int, tree: Tree) -> None:
        """Keep a state under a number larger than all before; forget all but the newest two."""
        self.folder.mkdir(exist_ok=True)
        data = pack({"format": FORMAT, "run": self.run, "number": number, "state": tree})
        path = self._data_path(number)
        files.write(path, data)
        files.write(path.with_suffix(".sha256"), f"{files.sha256(data)}  {path.name}\n".encode())
        for old in self.numbers()[:-KEPT]:
            self._remove(old)

    def numbers(self) -> list[int]:
        """The numbers of all checkpoints that were completed, oldest first."""
        found = (path.stem for path in self.folder.glob("*.sha256"))
        return sorted(int(stem) for stem in found if stem.isdigit())

    def newest(self) -> tuple[int, Tree] | None:
        """The newest checkpoint that verifies, or None if none was ever completed."""
        numbers = self.numbers()
        for number in reversed(numbers):
            try:
                return number, self._read(number)
            except BadInput as error:
                warnings.warn(f"checkpoint {number} is not usable ({error})", DamagedCheckpoint, stacklevel=2)
        if numbers:
            raise BadInput(
                f"none of the {len(numbers)} checkpoints in {self.folder} can be used; "
                "start a new record, or restore this folder from a copy"
            )
        return None

    def forget_older(self) -> None:
        """Remove all but the newest, after an edit that must leave no trace."""
        for old in self.numbers()[:-1]:
            self._remove(old)

    def _read(self, number: int) -> Tree:
        path = self._data_path(number)
        try:
            data = path.read_bytes()
            written = path.with_suffix(".sha256").read_text("ascii").split()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"it cannot be read: {error}") from None
        if written[:1] != [files.sha256(data)]:
            raise BadInput("its checksum does not match")
        return self._checked(unpack(data))

    def _checked(self, tree: Tree) -> Tree:
        if tree.get("format") != FORMAT:
            raise BadInput(f"it has format {tree.get('format')}, this version reads format {FORMAT}")
        if tree["run"] != self.run:
            raise BadInput(f"it belongs to run {tree['run'][:12]}, not to {self.run[:12]}")
        state: Tree = tree["state"]
        return state

    def _data_path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.safetensors"

    def _remove(self, number: int) -> None:
        # The checksum goes first: without it the data file is no checkpoint any more.
        path = self._data_path(number)
        files.remove(path.with_suffix(".sha256"))
        files.remove(path)
