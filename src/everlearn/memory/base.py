"""The base class of replay buffers, and files of memories."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np

from everlearn import files
from everlearn.errors import BadInput, is_integer
from everlearn.factors import FACTOR_NAMES, Factors
from everlearn.memory.table import AnyArray, ColumnTable
from everlearn.rng import FloatArray, IntArray, Rng, check_seed, rng_at
from everlearn.serialization import digest, pack, unpack
from everlearn.streams.stream import Batch

FORMAT = 1
RNG_BLOCK = 256
"""Images whose random numbers are drawn together."""
MAX_CAPACITY = 10**9
BATCH_COLUMNS = ("images", "labels", "factors", "tasks")


class State(TypedDict):
    """The state of a memory: named arrays, and metadata as JSON values.

    Example:
        >>> from everlearn.memory import Reservoir
        >>> state = Reservoir(capacity=5).state()
        >>> state["metadata"]["capacity"], state["arrays"]
        (5, {})
    """

    arrays: dict[str, AnyArray]
    metadata: dict[str, Any]


def save_state(path: str | Path, kind: str, state: State) -> None:
    """Write a state, its kind and a checksum to a safetensors file; equal states give equal files.

    Example:
        >>> from tempfile import mkdtemp
        >>> state = State(arrays={"labels": np.arange(3)}, metadata={"note": "example"})
        >>> save_state(file := Path(mkdtemp(), "memory.safetensors"), "labels", state)
        >>> open_state(file, "labels")
        {'arrays': {'labels': array([0, 1, 2])}, 'metadata': {'note': 'example'}}
    """
    arrays, metadata = (dict(sorted(part.items())) for part in (state["arrays"], state["metadata"]))
    header = {"kind": kind, "format": FORMAT, "sha256": digest({"arrays": arrays, "metadata": metadata})}
    files.write(Path(path), pack({**header, "arrays": arrays, "metadata": metadata}))


def open_state(path: str | Path, kind: str) -> State:
    """Read a file of `save_state`; raises `BadInput` if it is damaged or of another kind.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "memory.safetensors")
        >>> save_state(file, "labels", State(arrays={"labels": np.arange(3)}, metadata={}))
        >>> open_state(file, "labels")["arrays"]["labels"]
        array([0, 1, 2])
    """
    try:
        tree = unpack(Path(path).read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no file {str(path)!r}; give the path of a saved memory") from None
    except OSError as error:
        reason = f"{str(path)!r} cannot be read ({error.strerror})"
        raise BadInput(f"{reason}; give the path of a saved memory") from None
    except BadInput:
        raise BadInput(f"{str(path)!r} is not a memory of everlearn, or it is damaged; use a copy") from None
    found, version, checksum = (tree.get(name) for name in ("kind", "format", "sha256"))
    if checksum is None:
        raise BadInput(f"{str(path)!r} is not a memory that everlearn has saved; give one that is")
    if version != FORMAT:
        raise BadInput(
            f"{str(path)!r} has format {version}; this everlearn reads format {FORMAT}; use the version that "
            "wrote it"
        )
    if found != kind:
        raise BadInput(f"{str(path)!r} holds {found!r}; give a file with {kind!r}")
    state = State(arrays=tree.get("arrays", {}), metadata=tree.get("metadata", {}))
    if digest({**state}) != checksum:
        raise BadInput(f"{str(path)!r} is damaged: its checksum is wrong; use a copy of it")
    return state


@dataclass(frozen=True, eq=False)
class Sample(Batch):
    """A batch from a replay buffer, the `extra` arrays stored with it, and its rows until the next change.

    Example:
        >>> from everlearn.memory import Reservoir
        >>> buffer = Reservoir(capacity=5)
        >>> buffer.add(Batch(np.zeros((3, 8, 8), np.uint8), np.arange(3)), logits=np.ones((3, 10)))
        >>> sample = buffer.sample(2)
        >>> len(sample), sample.extra["logits"].shape
        (2, (2, 10))
    """

    extra: dict[str, AnyArray] = field(default_factory=dict)
    rows: IntArray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)


class ReplayBuffer(ABC):
    """At most `capacity` images of a stream; subclasses select which.

    The content does not depend on a global random state or on how images are split into batches, and
    `load(state())` continues exactly.

    Args:
        capacity: images stored in total.
        seed: seed of the selection and of samples.

    Example:
        >>> from everlearn.memory import Reservoir
        >>> buffer = Reservoir(capacity=5)
        >>> buffer.add(Batch(np.zeros((20, 8, 8), np.uint8), np.arange(20) % 2))
        >>> buffer
        <Reservoir: 5 of at most 5 images, 20 seen>
        >>> buffer.labels(), buffer.sample(3).images.shape
        ([0, 1], (3, 8, 8))
    """

    kind: ClassVar[str]
    table_class: ClassVar[type[ColumnTable]] = ColumnTable

    def __init__(self, *, capacity: int, seed: int = 0) -> None:
        if not is_integer(capacity) or not 1 <= capacity <= MAX_CAPACITY:
            raise BadInput(f"capacity is {capacity!r:.40}; it must be an integer from 1 to {MAX_CAPACITY:,}")
        self.capacity, self.seed = int(capacity), check_seed(seed)
        self.n_seen = self._n_samples = 0
        self._table = self.table_class(max_rows=capacity)

    @abstractmethod
    def add(self, batch: Batch, **extra: AnyArray) -> None:
        """Observe new images, with extra arrays of one row per image, and store some of them."""

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} of at most {self.capacity} images, {self.n_seen} seen>"

    @property
    def nbytes(self) -> int:
        """Bytes of the stored rows."""
        return self._table.used_bytes

    def labels(self) -> list[int]:
        """The labels of stored images, sorted."""
        return [int(label) for label in np.unique(self._labels())]

    def count(self, label: int) -> int:
        """Number of stored images of a label."""
        return int(np.count_nonzero(self._labels() == label))

    def everything(self) -> Sample:
        """All that is stored."""
        return self._sample(np.arange(len(self)))

    def of(self, label: int) -> Sample:
        """All that is stored of a label."""
        return self._sample(np.flatnonzero(self._labels() == label))

    def sample(self, n: int, *address: int) -> Sample:
        """Draw n different images, or all if there are fewer, in random order.

        The same address, of up to three numbers, draws the same rows. Without one, each call draws new rows.
        """
        if n < 0:
            raise BadInput(f"cannot sample {n} images; give a number from 0 up")
        if address:
            rng = rng_at(self.seed, f"{self.kind} sample at", *address)
        else:
            rng = rng_at(self.seed, f"{self.kind} sample", self._n_samples)
            self._n_samples += 1
        return self._sample(_distinct(rng, min(n, len(self)), len(self)))

    def state(self) -> State:
        """Everything, as arrays and metadata."""
        metadata = {**self._settings(), "n_seen": self.n_seen, "n_samples": self._n_samples}
        return State(arrays=self._table.state(), metadata=metadata)

    def load(self, state: State) -> None:
        """Restore what `state` returned; kind, capacity and seed must be equal."""
        metadata = state["metadata"]
        for name, own in self._settings().items():
            if metadata.get(name) != own:
                raise BadInput(f"the state has {name} {metadata.get(name)!r}; this memory has {own!r}")
        table = self.table_class(max_rows=self.capacity)
        table.load(state["arrays"])
        self._table, self.n_seen, self._n_samples = table, metadata["n_seen"], metadata["n_samples"]

    def _settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "capacity": self.capacity, "seed": self.seed}

    def _labels(self) -> IntArray:
        return self._table["labels"] if "labels" in self._table else np.zeros(0, np.int64)

    def _sample(self, rows: IntArray) -> Sample:
        columns = self._table.take(rows)
        extra = {name: column for name, column in columns.items() if name not in BATCH_COLUMNS}
        images = columns.get("images", np.zeros((0, 0, 0), np.uint8))
        labels, factors = columns.get("labels", np.zeros(0, np.int64)), None
        if "factors" in columns:
            geometry, colour = np.split(columns["factors"], [len(FACTOR_NAMES)], axis=1)
            factors = Factors(**dict(zip(FACTOR_NAMES, geometry.T, strict=True)), colour=colour)
        return Sample(images, labels, factors, columns.get("tasks"), extra, rows)

    def _overwrite(self, images: dict[int, int], columns: dict[str, AnyArray]) -> None:
        """Overwrite rows with images of a batch, given as {row: index in the batch}."""
        indices = np.array(list(images.values()), np.int64)
        parts = {name: column[indices] for name, column in columns.items()}
        self._table.overwrite(np.array(list(images), np.int64), parts)

    def _uniforms(self, n: int, per_image: int) -> FloatArray:
        """Uniform numbers (n, per_image) for the next n images, independent of batches."""
        first, skip = divmod(self.n_seen, RNG_BLOCK)
        blocks = range(first, first + -(-(skip + n) // RNG_BLOCK))
        numbers = [rng_at(self.seed, self.kind, block).uniform(RNG_BLOCK * per_image) for block in blocks]
        return np.concatenate([np.zeros(0), *numbers]).reshape(-1, per_image)[skip : skip + n]


def columns_of(batch: Batch, extra: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """The columns of a batch and of extra arrays."""
    taken = [name for name in extra if name in BATCH_COLUMNS]
    if taken:
        raise BadInput(f"an extra array is called {taken[0]!r}, which the batch has itself; rename it")
    wrong = {name: len(array) for name, array in extra.items() if len(array) != len(batch)}
    if wrong:
        raise BadInput(f"extra arrays have {wrong} rows; each must have {len(batch)}, one per image")
    columns: dict[str, AnyArray] = {"images": batch.images, "labels": np.asarray(batch.labels, np.int64)}
    if batch.factors is not None:
        columns["factors"] = np.hstack([batch.factors.array(), batch.factors.colour])
    if batch.tasks is not None:
        columns["tasks"] = batch.tasks
    return {**columns, **extra}


def _distinct(rng: Rng, n: int, high: int) -> IntArray:
    """`n` different integers below `high` in random order: a sparse Fisher-Yates shuffle."""
    swapped: dict[int, int] = {}
    drawn = np.empty(n, np.int64)
    for i, uniform in enumerate(rng.uniform(n).tolist()):
        j = i + int(uniform * (high - i))
        drawn[i] = swapped.get(j, j)
        swapped[j] = swapped.get(i, i)
    return drawn
