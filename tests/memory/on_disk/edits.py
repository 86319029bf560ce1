"""Edits of a small memory, and its expected content after each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from everlearn.memory.on_disk import OnDiskMemory, store
from everlearn.rng import rng_at
from everlearn.streams.stream import Images

SHAPE = (4, 8)
PATCH = 8
"""Length of byte sequences that are unique to an image."""

Content = dict[int, tuple[list[bytes], str]]
"""By label: the bytes of its images, sorted, and its name."""
Step = Callable[[OnDiskMemory], object]


def image(number: int) -> Images:
    """An image of unique bytes."""
    return rng_at(5, "shelf test", number).integers(32, 255).astype(np.uint8).reshape(SHAPE) + np.uint8(1)


def images(*numbers: int) -> Images:
    return np.stack([image(number) for number in numbers])


STEPS: list[Step] = [
    lambda s: s.add([1, 2, 3], images(1, 2, 3), ["one", "two", "three"]),
    lambda s: s.forget([2]),
    lambda s: s.add([4, 1, 5], images(4, 11, 5)),
    lambda s: s.rename(4, "vier"),
    lambda s: s.remove(s.find_image(image(1))),  # the row that has the name of class 1
    lambda s: s.add(range(10, 20), images(*range(10, 20))),
    lambda s: s.forget([1, 4, 12]),
    lambda s: s.add([4], images(44), ["four again"]),
    lambda s: s.forget([4]),
]
"""They include the fit of codes and the reuse of rows."""
ALL_IMAGES = {f"image {n}": image(n).tobytes() for n in (1, 2, 3, 4, 5, 11, 44, *range(10, 20))}


def content_of(memory: OnDiskMemory) -> Content:
    return {
        label: (sorted(image.tobytes() for image in memory.images_of(label)), memory.name(label))
        for label in memory.classes().tolist()
    }


def expected(folder: Path) -> list[Content]:
    """The content before the first edit and after each."""
    with OnDiskMemory.create(folder, image_shape=SHAPE) as memory:
        states = [content_of(memory)]
        for step in STEPS:
            step(memory)
            states.append(content_of(memory))
    return states


@contextmanager
def small_fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fit codes to 12 images instead of 4096."""
    with monkeypatch.context() as patch:
        patch.setattr(store, "FIT_IMAGES", 12)
        yield


def traces(folder: Path, content: Content) -> list[str]:
    """Images that are not in the memory but, in part, in some file."""
    kept = {image for images, _ in content.values() for image in images}
    data = [path.read_bytes() for path in folder.iterdir()]
    return [
        name
        for name, image in ALL_IMAGES.items()
        if image not in kept
        for start in range(0, len(image), PATCH)
        if any(image[start : start + PATCH] in each for each in data)
    ]
