"""What the memories that learners rehearse from have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np

from everlearn import files
from everlearn.errors import BadInput
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.memory.table import AnyArray, Rows
from everlearn.rng import FloatArray, IntArray, Rng, check_seed, rng_at
from everlearn.serialization import Tree, digest, pack, unpack
from everlearn.streams.stream import Batch

FORMAT = 1


class State(TypedDict):
    """All there is to know: arrays by name, and facts that JSON can hold."""

    arrays: dict[str, AnyArray]
    facts: dict[str, Any]


def save_state(path: str | Path, kind: str, state: State) -> None:
    """Write a state, its kind and a checksum to one safetensors file; equal states make equal files."""
    arrays, facts = (dict(sorted(part.items())) for part in (state["arrays"], state["facts"]))
    about = {"kind": kind, "format": FORMAT, "sha256": digest({"arrays": arrays, "facts": facts})}
    files.write(Path(path), pack({**about, "arrays": arrays, "facts": facts}))


def open_state(path: str | Path, kind: str) -> State:
    """Read what `save_state` wrote; a file that is damaged, or of another kind, is refused."""
    tree = _read(Path(path))
    found, version, checksum = (tree.get(name) for name in ("kind", "format", "sha256"))
    if checksum is None:
        raise BadInput(f"{str(path)!r} is not a memory saved by everlearn; give one that is")
    if version != FORMAT:
        raise BadInput(f"{str(path)!r} has format {version}; this everlearn reads format {FORMAT}")
    if found != kind:
        raise BadInput(f"{str(path)!r} holds {found!r}; {kind!r} was expected")
    state = State(arrays=tree.get("arrays", {}), facts=tree.get("facts", {}))
    if digest({**state}) != checksum:
        raise BadInput(f"{str(path)!r} is damaged: its checksum does not fit; use a copy of it")
    return state


def _read(path: Path) -> Tree:
    try:
        return unpack(path.read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no file {str(path)!r}; give the path of a saved memory") from None
    except BadInput:
        raise BadInput(f"{str(path)!r} is not a memory saved by everlearn, or it is damaged") from None


BLOCK = 256
MAX_CAPACITY = 10**9
OWN = ("images", "labels", "factors", "tasks")


@dataclass(frozen=True, eq=False)
class Sample(Batch):
    """A batch out of a memory.

    Attributes:
        extra: the other arrays kept with the images, row by row.
        rows: where they are in the memory, good until its next change.
    """

    extra: dict[str, AnyArray] = field(default_factory=dict)
    rows: IntArray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)


class Memory(ABC):
    """At most `capacity` images out of all that ever came by.

    Which ones is what the kinds of memory differ in. Nothing depends on a global random state or on how
    the images were cut into batches, and `load(state())` continues exactly.

    Args:
        capacity: images kept in all.
        seed: decides every random choice, together with how many images and samples there were.
    """

    kind: ClassVar[str]

    def __init__(self, *, capacity: int, seed: int = 0) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int) or not 1 <= capacity <= MAX_CAPACITY:
            expected = f"a whole number from 1 to {MAX_CAPACITY:,}"
            raise BadInput(f"capacity is {capacity!r:.40}; it must be {expected}")
        self.capacity, self.seed = capacity, check_seed(seed)
        self.n_seen = 0
        self._n_samples = 0
        self._rows = self._no_rows()

    @abstractmethod
    def add(self, batch: Batch, **extra: AnyArray) -> None:
        """Meet new images, and arrays with one row for each; keep some, and let go of others for them."""

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} of at most {self.capacity} images, {self.n_seen} seen>"

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept; a memory that was saved and loaded says the same."""
        return self._rows.used_bytes

    def labels(self) -> list[int]:
        """The labels that have an image here, sorted."""
        return [int(label) for label in np.unique(self._labels())]

    def count(self, label: int) -> int:
        """How many images of a label are kept."""
        return int(np.count_nonzero(self._labels() == label))

    def everything(self) -> Sample:
        """All that is kept."""
        return self._sample(np.arange(len(self)))

    def of(self, label: int) -> Sample:
        """All that is kept of a label."""
        return self._sample(np.flatnonzero(self._labels() == label))

    def sample(self, n: int, *address: int) -> Sample:
        """Draw n different images, or all there are, in random order; none from an empty memory.

        Args:
            n: how many.
            address: up to three numbers; the same address draws the same rows. Without one, the memory
                counts its samples, and every call draws anew.
        """
        if n < 0:
            raise BadInput(f"cannot sample {n} images; give a number from 0 up")
        if address:
            source = rng_at(self.seed, f"{self.kind} sample at", *address)
        else:
            source = rng_at(self.seed, f"{self.kind} sample", self._n_samples)
            self._n_samples += 1
        return self._sample(_distinct(source, min(n, len(self)), len(self)))

    def state(self) -> State:
        """All of it, as arrays and plain facts."""
        facts = {**self._settings(), "n_seen": self.n_seen, "n_samples": self._n_samples}
        return State(arrays=self._rows.state(), facts=facts)

    def load(self, state: State) -> None:
        """Become what `state` described; kind, capacity and seed must be the same."""
        facts = state["facts"]
        for name, ours in self._settings().items():
            if facts.get(name) != ours:
                raise BadInput(f"the state has {name} {facts.get(name)!r}; this memory has {ours!r}")
        rows = self._no_rows()
        rows.load(state["arrays"])
        self._rows, self.n_seen, self._n_samples = rows, facts["n_seen"], facts["n_samples"]

    def _no_rows(self) -> Rows:
        return Rows(limit=self.capacity)

    def _settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "capacity": self.capacity, "seed": self.seed}

    def _labels(self) -> IntArray:
        return self._rows["labels"] if "labels" in self._rows else np.zeros(0, np.int64)

    def _sample(self, rows: IntArray) -> Sample:
        columns = self._rows.take(rows)
        extra = {name: column for name, column in columns.items() if name not in OWN}
        images = columns.get("images", np.zeros((0, 0, 0), np.uint8))
        labels = columns.get("labels", np.zeros(0, np.int64))
        return Sample(images, labels, _factors(columns), columns.get("tasks"), extra, rows)

    def _write(self, images: dict[int, int], columns: dict[str, AnyArray]) -> None:
        """Overwrite rows with images of a batch, given as row -> number in the batch."""
        numbers = np.array(list(images.values()), np.int64)
        parts = {name: column[numbers] for name, column in columns.items()}
        self._rows.overwrite(np.array(list(images), np.int64), parts)

    def _chances(self, n: int, per_image: int) -> FloatArray:
        """Uniform numbers, (n, per_image), for the next n images: the same however they are batched."""
        first, skip = divmod(self.n_seen, BLOCK)
        blocks = range(first, first + -(-(skip + n) // BLOCK))
        numbers = [rng_at(self.seed, self.kind, block).uniform(BLOCK * per_image) for block in blocks]
        return np.concatenate([np.zeros(0), *numbers]).reshape(-1, per_image)[skip : skip + n]


def columns_of(batch: Batch, extra: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """A batch as named arrays, next to extra ones."""
    taken = [name for name in extra if name in OWN]
    if taken:
        raise BadInput(f"an extra array is called {taken[0]!r}, which the batch has itself; rename it")
    odd = {name: len(array) for name, array in extra.items() if len(array) != len(batch)}
    if odd:
        raise BadInput(f"extra arrays have {odd} rows; each must have {len(batch)}, one for each image")
    columns: dict[str, AnyArray] = {"images": batch.images, "labels": np.asarray(batch.labels, np.int64)}
    if batch.factors is not None:
        columns["factors"] = np.hstack([batch.factors.array(), batch.factors.colour])
    if batch.tasks is not None:
        columns["tasks"] = batch.tasks
    return {**columns, **extra}


def _factors(columns: dict[str, AnyArray]) -> Factors | None:
    if "factors" not in columns:
        return None
    geometry, colour = np.split(columns["factors"], [len(FACTOR_NAMES)], axis=1)
    return Factors(**dict(zip(FACTOR_NAMES, geometry.T, strict=True)), colour=colour)


def _distinct(source: Rng, n: int, high: int) -> IntArray:
    """N different numbers below high in random order: a card shuffle that only touches the cards drawn."""
    swapped: dict[int, int] = {}
    drawn = np.empty(n, np.int64)
    for i, chance in enumerate(source.uniform(n).tolist()):
        j = i + int(chance * (high - i))
        drawn[i] = swapped.get(j, j)
        swapped[j] = swapped.get(i, i)
    return drawn
