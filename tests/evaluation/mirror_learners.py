"""Learners with known latents and reconstructions, and a stream of uniform images."""

import numpy as np
import numpy.typing as npt

from everlearn.factors import Factors
from everlearn.learners import Learner, Losses
from everlearn.learners.capabilities import EnvironmentInfo
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, Stream, Task
from everlearn.streams.stream import Images

STD = 0.5


class EmptyLearner(Learner):
    """A learner without capabilities."""

    def learn(self, batch: Batch) -> Losses:
        return {}

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        return np.full(len(images), -1)


class MirrorLearner(EmptyLearner):
    """Infers environment 0 for bright images, 1 for dark ones; latents are the pixels of the bright version.

    Reconstructions are exact, and decoding in the other environment gives the exact negative.
    """

    def __init__(self, image_shape: tuple[int, ...] = (16, 16), n_environments: int = 2) -> None:
        super().__init__(image_shape=image_shape)
        self.masks = np.ones((n_environments, int(np.prod(image_shape))), bool)
        self.changes: list[tuple[int, int]] = []

    def encode(self, images: Images) -> FloatArray:
        return self.posterior(images)[0]

    def posterior(self, images: Images) -> tuple[FloatArray, FloatArray]:
        pixels = images.reshape(len(images), -1) / 255
        bright = np.where(self._is_dark(images)[:, None], 1 - pixels, pixels)
        return bright, np.full(bright.shape, STD)

    def decode(self, latents: FloatArray, environment: int = 0) -> FloatArray:
        bright = np.asarray(latents).reshape(len(latents), *self.image_shape)
        return 1 - bright if environment == 1 else bright

    def infer_environment(self, images: Images) -> int:
        return int(self._is_dark(images).mean() > 0.5)

    def environment_probabilities(self, images: Images) -> FloatArray:
        dark = self._is_dark(images).astype(np.float64)
        return np.stack([1 - dark, dark], axis=1)

    def environment_changes(self) -> list[tuple[int, int]]:
        return self.changes

    def environment_info(self) -> list[EnvironmentInfo]:
        nothing = np.zeros(self.masks.shape[1])
        return [
            EnvironmentInfo(active=mask, used=mask, kl=nothing, capacity=0, nll=0, n_batches=0)
            for mask in self.masks
        ]

    @staticmethod
    def _is_dark(images: Images) -> npt.NDArray[np.bool_]:
        return np.asarray(images.reshape(len(images), -1).mean(axis=1) < 127)


class ConstantDecoder(MirrorLearner):
    """Decodes all latents to one image, in every environment."""

    def decode(self, latents: FloatArray, environment: int = 0) -> FloatArray:
        light = np.zeros((len(latents), *self.image_shape))
        light[:, 6:10, 6:10] = 1
        return 1 - light if environment == 1 else light


class SigmoidLearner(MirrorLearner):
    """The probability of environment 0 is a sigmoid of the brightness, 0.5 at HALF."""

    HALF, STEEPNESS = 0.61, 30.0

    def environment_probabilities(self, images: Images) -> FloatArray:
        first = self.probability(images.reshape(len(images), -1).mean(axis=1) / 255)
        return np.stack([first, 1 - first], axis=1)

    @classmethod
    def probability(cls, brightness: FloatArray | float) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(-cls.STEEPNESS * (brightness - cls.HALF))))


class UniformStream(Stream):
    """Tasks of images that are all white (even tasks) or all black."""

    id, n_tasks, image_shape = "uniform/test-v1", 3, (16, 16)

    def load_task(self, k: int) -> Task:
        images = np.full((100, 16, 16), 255 * (1 - k % 2), np.uint8)
        batch = Batch(images, np.arange(100) % 2, Factors(scale=np.ones(100)))
        return Task(k, (0, 1), lambda split: batch, lambda: batch[:2], name=("white", "black")[k % 2])

    def eval_sample(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        return self.task(0).test
