"""Exports as streams."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.files import sha256
from everlearn.rng import rng_at
from everlearn.streams.exports.codec import Codec, PartKey, empty
from everlearn.streams.exports.formats import codec as codec_for
from everlearn.streams.exports.manifest import (
    Manifest,
    PartName,
    TaskRecord,
    damaged,
    format_tasks,
    read_manifest,
    spec_from,
    task_folder,
)
from everlearn.streams.stream import Batch, Stream, Task


def load(path: str | Path) -> "ExportedStream":
    """Load an export of any format as a stream; splits are read and verified on first access.

    Example:
        >>> from tempfile import mkdtemp
        >>> from everlearn.streams import export, sprites
        >>> stream = sprites(n_tasks=2, image_size=16, classes_per_task=2, factor_values=2)
        >>> manifest = export(stream, folder := mkdtemp(), to="npz")
        >>> load(folder).task(1) == stream.task(1)
        True
    """
    folder = Path(path)
    return ExportedStream(folder, read_manifest(folder))


class ExportedStream(Stream):
    """A stream in files, with the id, spec, tasks and fingerprint of the exported stream.

    Tasks keep their indices: in an export of tasks 10 to 19, `task(10)` is the first.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.id, self.spec, self.n_tasks = manifest.stream, spec_from(manifest.spec), len(manifest.tasks)
        self.manifest, self._folder, self._codec = manifest, folder, codec_for(manifest.to)
        self._records = {record.index: record for record in manifest.contents}
        part = manifest.contents[0].parts["train"]
        self.image_shape, self.provides_task_ids = part.image_shape, part.tasks

    def _check_index(self, k: int) -> int:
        if k not in self._records:
            held = format_tasks(self.manifest.tasks)
            raise BadInput(f"there is no task {k} in {self._folder}; it holds tasks {held} of {self.id}")
        return k

    def _indices(self) -> Iterable[int]:
        return self.manifest.tasks

    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        """A label-balanced sample of the first `n_tasks` exported tasks; at most `size` files are read."""
        if n_tasks < 1 or size < 1:
            raise BadInput(f"a sample of {size} images from {n_tasks} tasks is empty; both must be 1 or more")
        pairs = [(k, label) for k in self.manifest.tasks[:n_tasks] for label in self._records[k].labels]
        selected = rng_at(seed, "probe labels").permutation(len(pairs))[:size]
        each, n_extra = divmod(size, len(selected))
        counts: dict[int, dict[int, int]] = {}
        for rank, pair in enumerate(selected):
            k, label = pairs[pair]
            counts.setdefault(k, {})[label] = each + (rank < n_extra)
        samples = []
        for k, of_task in sorted(counts.items()):
            test = self.load_task(k).test
            order = rng_at(seed, "probe rows", k).permutation(len(test))
            rows = [order[test.labels[order] == label][:n] for label, n in of_task.items()]
            sample = test[np.sort(np.concatenate(rows))]
            samples.append(replace(sample, tasks=np.full(len(sample), k, np.int64)))
        return Batch.concatenate(samples)

    def load_task(self, k: int) -> Task:
        return read_task(self._folder, self._records[k], self._codec)


def read_task(folder: Path, record: TaskRecord, codec: Codec) -> Task:
    """An exported task whose images are read on first access."""
    load = partial(_read_part, folder, record, codec)
    return Task(record.index, record.labels, load, partial(load, "exemplars"), record.ordered, record.name)


def _read_part(folder: Path, record: TaskRecord, codec: Codec, name: PartName) -> Batch:
    part = record.parts[name]
    if not part.rows:
        return empty(part)
    here = folder / task_folder(record.index)
    path = here / f"{name}{codec.suffix}"
    read = partial(_read_verified, here, limit=part.nbytes)
    data = read(path.name, part.sha256)
    try:
        batch = codec.decode(data, part, PartKey(record.index, name), read)
    except BadInput:
        raise
    except Exception as error:  # a hostile file can make a decoder raise anything
        raise BadInput(f"{path} does not match the manifest: {error}") from error
    if batch.images.shape != (part.rows, *part.image_shape) or batch.images.dtype != np.uint8:
        raise BadInput(f"{path} does not match the manifest (other images); export again")
    return batch


def _read_verified(folder: Path, name: str, expected: str | None, *, limit: int) -> bytes:
    path = folder / name
    if not path.is_file():
        raise BadInput(f"{path} is missing; export again into a new folder")
    try:
        data = path.read_bytes() if path.stat().st_size <= limit else b""
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; export again into a new folder") from error
    if sha256(data) != expected:
        raise damaged(path)
    return data
