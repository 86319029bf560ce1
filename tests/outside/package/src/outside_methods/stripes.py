"""A stream without a source or a scenario: gratings whose orientation is the class."""

import numpy as np

from everlearn.streams import Batch, Stream, Task

SIZES = {"train": 12, "val": 4, "test": 4, "held_out": 0}


class Stripes(Stream):
    """Gratings: the orientation is the class, the phase varies."""

    def __init__(
        self, n_tasks: int = 4, classes_per_task: int = 2, image_size: int = 16, seed: int = 0
    ) -> None:
        self.id, self.n_tasks = "stripes/class-incremental-v1", n_tasks
        self.image_shape, self.labels_recur = (image_size, image_size), False
        self.classes_per_task, self.seed = classes_per_task, seed

    def load_task(self, k: int) -> Task:
        labels = tuple(range(k * self.classes_per_task, (k + 1) * self.classes_per_task))
        return Task(
            k, labels, lambda split: self._split(labels, split), lambda: self._images(labels, [0.0], 0.0)
        )

    def _split(self, labels: tuple[int, ...], split: str) -> Batch:
        order = list(SIZES).index(split)
        phases = np.linspace(0, 6.0, SIZES[split], endpoint=False) + 0.11 * order
        return self._images(labels, phases, 1.0)

    def _images(self, labels: tuple[int, ...], phases: "np.ndarray | list[float]", noise: float) -> Batch:
        y, x = np.mgrid[: self.image_shape[0], : self.image_shape[1]]
        angles = np.pi * np.array(labels) / (self.classes_per_task * (self.n_tasks or 1))
        images = [
            127.5 + 120 * np.sin(x * np.cos(angle) + y * np.sin(angle) + phase) + noise * (self.seed % 7)
            for angle in angles
            for phase in phases
        ]
        array = np.array(images).reshape(-1, *self.image_shape)
        return Batch(
            np.clip(array, 0, 255).astype(np.uint8), np.repeat(np.array(labels, np.int64), len(phases))
        )
