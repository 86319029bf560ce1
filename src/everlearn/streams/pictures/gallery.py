"""Pictures in files, one group per class: found by name, decoded when first looked at."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from everlearn.chance import IntArray
from everlearn.errors import BadInput
from everlearn.streams.pictures.collection import Cache, Pixels
from everlearn.streams.pictures.decode import MAX_FILE_BYTES, decode
from everlearn.streams.pictures.drawings import Drawings

CACHE_BYTES = 2**28


class Gallery:
    """Classes of picture files; only names are kept, and the pixels of the latest drawings.

    Args:
        files: class name -> names of its files; both are used in the order given.
        read: name of a file -> its bytes.
        prepare: decoded (H, W, 4) pixels -> the drawing to keep.
        cache_bytes: how much memory decoded drawings may take.
    """

    def __init__(
        self,
        *,
        files: Mapping[str, Sequence[str]],
        read: Callable[[str], bytes],
        prepare: Callable[[Pixels], Pixels],
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._names, self._files = tuple(files), tuple(tuple(group) for group in files.values())
        self._read, self._prepare = read, prepare
        self._cache = Cache(cache_bytes)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._names)

    def class_name(self, class_id: int) -> str:
        """The name of the class's folder."""
        return self._names[class_id]

    def n_drawings(self, class_id: int) -> int:
        """How many files a class has."""
        return len(self._files[class_id])

    def n_test(self, class_id: int) -> int:
        """None is set aside: the split is ours to make."""
        return 0

    def drawings(self, class_ids: IntArray, numbers: IntArray) -> Drawings:
        """One drawing per row, decoded if it is not remembered."""
        return Drawings.of(
            [self._drawing(self._files[c][i]) for c, i in zip(class_ids, numbers, strict=True)]
        )

    def _drawing(self, file: str) -> Pixels:
        return self._cache.get(file, lambda: self._prepare(decode(self._read(file), file)))


def read_file(path: Path) -> bytes:
    """The bytes of a picture file, never more than a picture may have."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInput(
            f"{str(path)!r} cannot be read ({error.strerror}); put it back or look at its rights"
        ) from None
    return content
