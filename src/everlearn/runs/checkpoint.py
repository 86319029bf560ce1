"""Checkpoints: the newest two, each a safetensors file and its checksum, as `sha256sum -c` reads it.

The checksum file is written last and makes the checkpoint valid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from everlearn import files
from everlearn.errors import BadInput
from everlearn.memory.packing import Tree, pack, unpack

KEPT = 2
FORMAT = 1


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
        """Keep a state under a number; forget all but this one and the one before it."""
        self._check_folder()
        files.make_folder(self.folder)
        data = pack({"format": FORMAT, "run": self.run, "number": number, "state": tree})
        path = self._data_path(number)
        files.write(path, data)
        files.write(path.with_suffix(".sha256"), _checksum(path, data))
        self._keep(set(self.numbers()[-KEPT:]))

    def numbers(self) -> list[int]:
        """The numbers of all checkpoints that were completed, oldest first."""
        return sorted(_number(path) for path in self._named() if path.suffix == ".sha256")

    def newest_first(self) -> Iterator[int]:
        """The numbers of the checkpoints that ought to be readable."""
        numbers = self.numbers()
        # Before the first checksum there may be the first data file, and nothing else.
        if not numbers and any(_number(path) > 1 for path in self._named()):
            raise self.lost("their checksums are gone")
        return reversed(numbers)

    def read(self, number: int) -> Tree:
        """The state under a number; anything wrong with it is a complaint."""
        self._check_folder()
        path = self._data_path(number)
        try:
            data = path.read_bytes()
            written = path.with_suffix(".sha256").read_bytes()
        except OSError as error:
            raise BadInput(f"it cannot be read: {error}") from None
        if written != _checksum(path, data):
            raise BadInput("its checksum does not fit")
        return self._state(number, unpack(data))

    def forget_older(self) -> None:
        """Remove all but the newest, after an edit that must leave no trace."""
        self._keep(set(self.numbers()[-1:]))

    def lost(self, why: str) -> BadInput:
        """The complaint when there is no way back into the run."""
        return BadInput(
            f"none of the checkpoints in {self.folder} can be used ({why}); "
            "restore the folder from a copy, or start a new record"
        )

    def _state(self, number: int, tree: Tree) -> Tree:
        version = tree.get("format")
        if version != FORMAT:
            raise BadInput(f"it has format {version!r:.20}, this everlearn reads format {FORMAT}")
        if tree.get("run") != self.run:
            raise BadInput("it belongs to another run")
        if tree.get("number") != number:
            raise BadInput("it belongs in another place")
        state = tree.get("state")
        if not isinstance(state, dict):
            raise BadInput("it holds no state")
        return state

    def _keep(self, numbers: set[int]) -> None:
        # A checksum goes first: without it the data file is no checkpoint any more.
        old = [path for path in self._named() if _number(path) not in numbers]
        for path in sorted(old, key=lambda each: (each.suffix != ".sha256", each.name)):
            files.remove(path)

    def _named(self) -> list[Path]:
        """Files named as ours are, and what an interrupted save left of one."""
        found = [
            *self.folder.glob("*.safetensors"),
            *self.folder.glob("*.sha256"),
            *self.folder.glob(".*.new"),
        ]
        return [path for path in found if _stem(path).isdecimal()]

    def _data_path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.safetensors"

    def _check_folder(self) -> None:
        if self.folder.is_symlink():
            raise BadInput(f"{self.folder} is a link; a record's checkpoints must lie inside it")


def _checksum(path: Path, data: bytes) -> bytes:
    """The line that `sha256sum` writes."""
    return f"{files.sha256(data)}  {path.name}\n".encode()


def _stem(path: Path) -> str:
    return path.name.lstrip(".").partition(".")[0]


def _number(path: Path) -> int:
    return int(_stem(path))
