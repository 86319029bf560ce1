"""The product, `everlearn.Recogniser`, as one of the methods."""

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.photos.archives import Pixels
from benchmarks.photos.queries import Answer
from everlearn.errors import BadInput

MANY = 60
"""From so many images on, and always with weights, the confidence is calibrated once, after all images."""


class Product:
    """A recogniser with a new memory and default settings.

    Args:
        upright: whether things are always seen upright.
        weights: of the features; None for the default ones.
        opened: further arguments of `Recogniser.open`.
    """

    def __init__(self, upright: bool = False, weights: Path | None = None, **opened: Any) -> None:
        import everlearn

        recogniser: Any = getattr(everlearn, "Recogniser", None)
        if recogniser is None:
            raise BadInput("this version has no everlearn.Recogniser; update everlearn, or choose a baseline")
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.recogniser = recogniser.open(Path(folder) / "memory", weights=weights, upright=upright, **opened)

    def teach(self, images: Sequence[Pixels], names: Sequence[str]) -> None:
        if len(images) > MANY or self.recogniser.weights is not None:
            self.recogniser.teach_all(images, names)
            return
        for image, name in zip(images, names, strict=True):
            self.recogniser.teach(image, name)

    def ask(self, images: Sequence[Pixels]) -> list[Answer]:
        answers = self.recogniser.ask(list(images))
        return [Answer(answer.name, answer.best, answer.confidence) for answer in answers]
