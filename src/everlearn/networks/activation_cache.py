"""Outputs of frozen layers, computed once per image and kept on disk as float16."""

import os
import shutil
import zlib
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from everlearn import files
from everlearn.networks.tensors import module_state, to_tensor
from everlearn.serialization import digest
from everlearn.streams.stream import Images

VARIABLE = "EVERLEARN_CACHE"
MAX_BYTES = 4 * 2**30
"""Bytes of all caches together; the least recently used caches are removed."""
CHUNK = 32
"""Images per forward pass: a fixed number, so that the output of one does not depend on the others."""
KEY_BYTES, ENTRY_BYTES = 16, 20

Row = npt.NDArray[np.float16]


def cache_folder() -> Path:
    """The folder of all caches: EVERLEARN_CACHE, or the user cache folder of the operating system."""
    from platformdirs import user_cache_path

    given = os.environ.get(VARIABLE)
    return (Path(given).expanduser().absolute() if given else user_cache_path("everlearn")) / "activations"


class CachedLayers:
    """Frozen layers whose outputs are computed once per image, also over runs and processes.

    All outputs are rounded to float16, so that results do not depend on the content of the cache. Images are
    identified by a hash of their pixels, caches by a hash of the weights.

    Example:
        >>> from tempfile import mkdtemp
        >>> layers = CachedLayers(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), (8, 8), Path(mkdtemp()))
        >>> layers(np.zeros((5, 8, 8), np.uint8)).shape, len(layers.rows)
        (torch.Size([5, 3]), 1)
    """

    def __init__(self, layers: nn.Module, image_shape: tuple[int, ...], folder: Path | None = None) -> None:
        self.layers = layers.eval()
        self.shape = self._compute(np.zeros((1, *image_shape), np.uint8)).shape[1:]
        weights = digest({"weights": module_state(layers), "shape": list(image_shape), "chunk": CHUNK})
        self.rows = CachedRows((folder or cache_folder()) / weights[:32], int(np.prod(self.shape)))

    def __call__(self, images: Images) -> Tensor:
        """Images (n, H, W[, 3]) -> outputs (n, ...) of the layers, in evaluation mode, on the CPU."""
        keys = [blake2b(image.tobytes(), digest_size=KEY_BYTES).digest() for image in images]
        found = {key: self.rows.get(key) for key in keys}
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        if missing := [key for key, row in found.items() if row is None]:
            computed = dict(zip(missing, self._compute(images[[first[key] for key in missing]]), strict=True))
            self.rows.add(computed)
            found |= computed
        rows = [np.asarray(found[key], np.float32).reshape(self.shape) for key in keys]
        return torch.from_numpy(np.stack(rows) if rows else np.zeros((0, *self.shape), np.float32))

    @torch.no_grad()
    def _compute(self, images: Images) -> Row:
        self.layers.eval()
        device = next((weight.device for weight in self.layers.parameters()), None)
        padded = np.concatenate([images, np.zeros((-len(images) % CHUNK, *images.shape[1:]), np.uint8)])
        chunks = (to_tensor(padded[start : start + CHUNK], device) for start in range(0, len(padded), CHUNK))
        outputs = torch.cat([self.layers(chunk).cpu() for chunk in chunks])[: len(images)]
        return np.asarray(outputs.contiguous().half().numpy())


class CachedRows:
    """Arrays of `size` float16 numbers by key, in a folder; two files, of entries and values, only grow.

    An entry (key and checksum) is written after its value, so a process that is killed leaves nothing that
    another one would misread; a value with a wrong checksum counts as missing. Several processes may use
    the same folder. If all caches together have `max_bytes`, nothing more is added.

    Example:
        >>> from tempfile import mkdtemp
        >>> rows = CachedRows(Path(mkdtemp(), "rows"), size=2)
        >>> rows.add({b"0123456789abcdef": np.array([1, 2], np.float16)})
        >>> rows.get(b"0123456789abcdef"), rows.get(b"unknown         ")
        (array([1., 2.], dtype=float16), None)
    """

    def __init__(self, folder: Path, size: int, max_bytes: int = MAX_BYTES) -> None:
        self.folder, self.max_bytes, self._row_bytes = folder, max_bytes, 2 * size
        files.make_folder(folder)
        self._entries, self._values = (
            files.disk.open(folder / name, os.O_CREAT | os.O_RDWR) for name in ("entries", "values")
        )
        os.utime(folder)  # marks the cache as recently used
        self._index: dict[bytes, tuple[int, int]] = {}
        self._n_read = 0
        self._read_entries()

    def __len__(self) -> int:
        return len(self._index)

    def __del__(self) -> None:
        for file in (getattr(self, "_entries", -1), getattr(self, "_values", -1)):
            if file >= 0 and os is not None:  # at interpreter exit modules are None
                os.close(file)

    def get(self, key: bytes) -> Row | None:
        """The array of a key; None if there is none."""
        if key not in self._index:
            return None
        place, checksum = self._index[key]
        data = files.read_at(self._values, self._row_bytes, place * self._row_bytes)
        return np.frombuffer(data, np.float16) if zlib.crc32(data) == checksum else None

    def add(self, rows: dict[bytes, Row]) -> None:
        """Store arrays, if they fit."""
        values = {key: np.ascontiguousarray(row).tobytes() for key, row in rows.items()}
        if not self.folder.is_dir() or not self._fits(len(values) * (self._row_bytes + ENTRY_BYTES)):
            return  # another process may have removed the cache
        os.utime(self.folder)  # marks the cache as recently used
        with files.FolderLock(self.folder, wait=True), files.os_error_context(self.folder / "values"):
            self._read_entries()  # of other processes
            os.lseek(self._values, self._n_read * self._row_bytes, os.SEEK_SET)
            files.write_all(self._values, b"".join(values.values()))
            entries = b"".join(key + zlib.crc32(value).to_bytes(4, "little") for key, value in values.items())
            os.lseek(self._entries, self._n_read * ENTRY_BYTES, os.SEEK_SET)
            files.write_all(self._entries, entries)
            self._read_entries()

    def _read_entries(self) -> None:
        size = os.fstat(self._entries).st_size // ENTRY_BYTES - self._n_read
        data = files.read_at(self._entries, size * ENTRY_BYTES, self._n_read * ENTRY_BYTES)
        for start in range(0, len(data) - ENTRY_BYTES + 1, ENTRY_BYTES):
            entry = data[start : start + ENTRY_BYTES]
            self._index[entry[:KEY_BYTES]] = self._n_read, int.from_bytes(entry[KEY_BYTES:], "little")
            self._n_read += 1

    def _fits(self, n_bytes: int) -> bool:
        """Whether `n_bytes` more fit, after removing the least recently used caches."""
        used, others = 0, []
        for cache in self.folder.parent.iterdir():
            with suppress(FileNotFoundError, NotADirectoryError):  # another process may remove it
                size = sum(file.stat().st_size for file in cache.iterdir())
                used += size
                if cache != self.folder:
                    others.append((cache.stat().st_mtime, size, cache))
        for _, size, cache in sorted(others):
            if used + n_bytes > self.max_bytes:
                shutil.rmtree(cache, ignore_errors=True)
                used -= size
        return used + n_bytes <= self.max_bytes
