"""Latents of each environment: posteriors of test images, active and used latents, decoded images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput
from everlearn.evaluation.environment_data import EnvironmentData, environment_data, environment_of
from everlearn.learners.capabilities import Decodes, HasPosterior, InfersEnvironment
from everlearn.rng import FloatArray
from everlearn.streams import Stream
from everlearn.streams.stream import Images

BoolArray = npt.NDArray[np.bool_]

USED_KL = 0.1
"""A latent is used if its mean KL divergence from the prior is larger."""


@dataclass(frozen=True, eq=False)
class EncodedEnvironment:
    """An environment as a learner encodes it."""

    data: EnvironmentData  # its images
    environment: int  # its number, as the learner infers it; 0 for learners that infer none
    active: BoolArray  # which latents are active there
    mean: FloatArray  # (n, n_latents) posterior means of the test images; 0 for masked latents
    std: FloatArray  # (n, n_latents) posterior standard deviations; 1 for masked latents

    @property
    def name(self) -> str:
        """The name of the environment in the stream."""
        return self.data.name

    @property
    def kl(self) -> FloatArray:
        """Mean KL divergence of each latent's posterior from the prior."""
        variance = self.std**2
        return np.asarray(0.5 * (self.mean**2 + variance - 1 - np.log(variance)).mean(axis=0))

    @property
    def used(self) -> BoolArray:
        """Which latents are used."""
        return np.asarray(self.kl > USED_KL)


def encode_environments(
    learner: HasPosterior,
    stream: Stream,
    n_tasks: int,
    n_images: int,
    n_batches: Sequence[int] = (),
    *,
    at_least: int = 1,
) -> list[EncodedEnvironment]:
    """The environments among the first tasks of a stream, encoded by a learner that was trained on them.

    If `n_batches` of each task is given, an environment is matched to the one that the learner inferred for
    most batches of its last task; otherwise, to the one that it infers for the test images. Raises an error
    if the stream has fewer than `at_least` environments.
    """
    found = environment_data(stream, n_tasks, n_images)
    if len(found) < at_least:
        raise BadInput(
            f"{stream.id} has one environment in {n_tasks} tasks; this protocol needs two, as in "
            "--stream environments"
        )
    if not isinstance(learner, InfersEnvironment):
        return [_encode(learner, data, 0, None) for data in found]
    names = [environment_of(task) for task in stream.take(n_tasks)]
    in_training = training_environments(learner.environment_changes() or (), n_batches)
    known, info = dict(zip(names, in_training, strict=False)), learner.environment_info()
    encoded = []
    for data in found:
        environment = known[data.name] if data.name in known else _inferred(learner, data)
        encoded.append(_encode(learner, data, environment, info[environment].active))
    return encoded


def training_environments(changes: Iterable[tuple[int, int]], n_batches: Sequence[int]) -> list[int]:
    """The environment that a learner inferred for most batches of each task.

    Changes are (batches seen, environment) of every switch; the learner starts in environment 0.
    """
    inferred = np.zeros(sum(n_batches), np.int64)
    for after, environment in changes:
        inferred[after - 1 :] = environment
    tasks = np.split(inferred, np.cumsum(n_batches)[:-1]) if len(n_batches) else []
    return [int(np.bincount(task).argmax()) for task in tasks]


def decode_images(learner: Decodes, latents: FloatArray, environment: int) -> Images:
    """Images (n, H, W[, 3]) decoded from latents (n, n_latents) in an environment."""
    return np.round(learner.decode(latents, environment) * 255).astype(np.uint8)


def traverse(
    learner: Decodes, latents: FloatArray, latent: int, values: Sequence[float], environment: int
) -> Images:
    """Images decoded in an environment while one latent takes each of some values; the others are fixed."""
    steps = np.repeat(latents[None], len(values), axis=0)
    steps[:, latent] = values
    return decode_images(learner, steps, environment)


def tile(rows: Sequence[Images]) -> Images:
    """Rows of equally many images as one image without gaps."""
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows], axis=0)


def _encode(
    learner: HasPosterior, data: EnvironmentData, environment: int, active: BoolArray | None
) -> EncodedEnvironment:
    mean, std = learner.posterior(data.test.images)
    active = np.ones(mean.shape[1], bool) if active is None else active
    return EncodedEnvironment(data, environment, active, mean * active, np.where(active, std, 1.0))


def _inferred(learner: InfersEnvironment, data: EnvironmentData) -> int:
    """The environment of all test images together; the most probable one if they look new."""
    environment = learner.infer_environment(data.test.images)
    if environment >= 0:
        return environment
    return int(learner.environment_probabilities(data.test.images).mean(axis=0).argmax())
