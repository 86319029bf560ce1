"""Edits of a small shelf, and what it must hold after each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from everlearn.memory.on_disk import Shelf, store
from everlearn.rng import rng_at
from everlearn.streams.stream import Images

SHAPE = (4, 8)
PATCH = 8
"""Random bytes in a row that no other image shares."""

Held = dict[int, tuple[list[bytes], str]]
"""By label, the bytes of its images, sorted, and its name."""
Step = Callable[[Shelf], object]


def image(number: int) -> Images:
    """An image of bytes that are nowhere else."""
    return rng_at(5, "shelf test", number).integers(32, 255).astype(np.uint8).reshape(SHAPE) + np.uint8(1)


def images(*numbers: int) -> Images:
    return np.stack([image(number) for number in numbers])


STEPS: list[Step] = [
    lambda s: s.add([1, 2, 3], images(1, 2, 3), ["one", "two", "three"]),
    lambda s: s.forget([2]),
    lambda s: s.add([4, 1, 5], images(4, 11, 5)),
    lambda s: s.rename(4, "vier"),
    lambda s: s.add(range(10, 20), images(*range(10, 20))),
    lambda s: s.forget([1, 4, 12]),
    lambda s: s.add([4], images(44), ["four again"]),
    lambda s: s.forget([4]),
]
"""Among them is the moment when codes are fitted, and rows that are used again."""
EVER = {f"image {n}": image(n).tobytes() for n in (1, 2, 3, 4, 5, 11, 44, *range(10, 20))}


def held(store: Shelf) -> Held:
    return {
        label: (sorted(image.tobytes() for image in store.images_of(label)), store.name(label))
        for label in store.classes().tolist()
    }


def expected(folder: Path) -> list[Held]:
    """What a shelf holds before the first edit and after each."""
    with Shelf.make(folder, image_shape=SHAPE) as calm:
        states = [held(calm)]
        for step in STEPS:
            step(calm)
            states.append(held(calm))
    return states


@contextmanager
def small_fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let codes be fitted to a dozen images already."""
    with monkeypatch.context() as patch:
        patch.setattr(store, "FITTED", 12)
        yield


def traces(folder: Path, content: Held) -> list[str]:
    """Images, or parts of them, that some file has though the shelf does not hold them."""
    kept = {image for images, _ in content.values() for image in images}
    data = [path.read_bytes() for path in folder.iterdir()]
    return [
        name
        for name, image in EVER.items()
        if image not in kept
        for start in range(0, len(image), PATCH)
        if any(image[start : start + PATCH] in each for each in data)
    ]
