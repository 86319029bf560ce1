"""Learners made by hand, whose descriptions and drawings are known exactly, and a stream of flat images."""

import numpy as np

from everlearn.factors import Factors
from everlearn.learners import EnvironmentInfo, Footprint, Learner, Losses, State
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, Stream, Task
from everlearn.streams.stream import Images

DEVIATION = 0.5


class Silent(Learner):
    """What every learner must have, and nothing in it."""

    def learn(self, batch: Batch) -> Losses:
        return {}

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.full(len(images), -1)

    def state(self) -> State:
        return {}

    def load(self, state: State) -> None: ...

    def footprint(self) -> Footprint:
        return Footprint(0)


class Mirror(Silent):
    """Knows bright images (environment 0) and their dark negatives (1); its latents are the bright pixels.

    So it loses nothing, and whatever it draws as the other environment is the exact negative.
    """

    def __init__(self, image_shape: tuple[int, ...] = (16, 16), n_environments: int = 2) -> None:
        super().__init__(image_shape=image_shape)
        n_latents = int(np.prod(image_shape))
        self.masks = np.ones((n_environments, n_latents), bool)
        self.changes: list[tuple[int, int]] = []

    def encode(self, images: Images) -> FloatArray:
        return self.posterior(images)[0]

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        shares = images.reshape(len(images), -1) / 255
        bright = np.where(self._is_negative(images)[:, None], 1 - shares, shares)
        return bright, np.full(bright.shape, DEVIATION)

    def decode(self, codes: FloatArray, environment: int = 0) -> FloatArray:
        bright = np.asarray(codes).reshape(len(codes), *self.image_shape)
        return 1 - bright if environment == 1 else bright

    def infer_environment(self, images: Images) -> int:
        return int(self._is_negative(images).mean() > 0.5)

    def environment_info(self) -> list[EnvironmentInfo]:
        return [EnvironmentInfo(mask, mask, np.zeros(len(mask)), 0.0, 0.0, 0) for mask in self.masks]

    def environment_changes(self) -> list[tuple[int, int]]:
        return self.changes

    def environment_probabilities(self, images: Images) -> FloatArray:
        negative = self._is_negative(images).astype(np.float64)
        return np.stack([1 - negative, negative], axis=1)

    @staticmethod
    def _is_negative(images: Images) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
        return images.reshape(len(images), -1).mean(axis=1) < 127


class Still(Mirror):
    """Draws one and the same image whatever it is told, in every environment."""

    def decode(self, codes: FloatArray, environment: int = 0) -> FloatArray:
        light = np.zeros((len(codes), *self.image_shape))
        light[:, 6:10, 6:10] = 1
        return 1 - light if environment == 1 else light


class Sigmoid(Mirror):
    """Is as sure of environment 0 as images are bright, and half sure at a brightness that is known."""

    HALF, STEEP = 0.61, 30.0

    def environment_probabilities(self, images: Images) -> FloatArray:
        first = self.sure(images.reshape(len(images), -1).mean(axis=1) / 255)
        return np.stack([first, 1 - first], axis=1)

    @classmethod
    def sure(cls, brightness: FloatArray | float) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(-cls.STEEP * (brightness - cls.HALF))))


class Flat(Stream):
    """Tasks of images that are white (even tasks) or black all over."""

    id, n_tasks, image_shape = "flat/test-v1", 3, (16, 16)

    def _task(self, k: int) -> Task:
        images = np.full((100, 16, 16), 255 * (1 - k % 2), np.uint8)
        batch = Batch(images, np.arange(100) % 2, Factors(scale=np.ones(100)))
        return Task(k, (0, 1), lambda split: batch, lambda: batch[:2], name=("white", "black")[k % 2])

    def probe(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        return self.task(0).test
