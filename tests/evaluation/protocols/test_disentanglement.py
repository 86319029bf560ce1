"""Disentanglement of latents that are the factors, and of rotated ones."""

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.disentanglement import Disentanglement
from everlearn.rng import FloatArray
from everlearn.streams import Batch, environments
from everlearn.streams.stream import Images
from tests.evaluation.mirror_learners import EmptyLearner, MirrorLearner, UniformStream

STREAM = environments(
    sequence=["sprites", "moving-sprites"], image_size=16, n_shapes=2, images_per_shape=2000
)


class FactorLearner(EmptyLearner):
    """The latents are the factors, rotated in pairs."""

    def __init__(self, angle: float = 0.0) -> None:
        super().__init__()
        rotation = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        self._rotation = np.kron(np.eye(2), rotation)
        self._factors = {key: row for task in STREAM for key, row in self._rows(task.test)}

    def encode(self, images: Images) -> FloatArray:
        return np.stack([self._factors[image.tobytes()] for image in images]) @ self._rotation

    @staticmethod
    def _rows(batch: Batch) -> list[tuple[bytes, FloatArray]]:
        assert batch.factors is not None
        columns = batch.factors.array() * [6, 1, 6, 6]  # of similar size
        return [(image.tobytes(), row) for image, row in zip(batch.images, columns, strict=True)]


def test_factors_are_disentangled_and_rotated_factors_are_not() -> None:
    protocol = Disentanglement(n_images=400)
    clear, rotated = (protocol.run(FactorLearner(angle), STREAM, 2) for angle in (0.0, 0.7))
    assert [each.name for each in clear.environments] == ["sprites", "moving-sprites"]
    assert [len(each.factors) for each in clear.environments] == [2, 4]
    for good, bad in zip(clear.environments, rotated.environments, strict=True):
        assert good.disentanglement > 0.85
        assert good.completeness > 0.85
        assert good.informativeness > 0.95
        assert good.mig > 0.8
        assert good.sap > 0.9
        assert bad.disentanglement < 0.6
        assert bad.mig < 0.4
        assert np.shape(good.importances) == (4, len(good.factors))
    assert clear.table().rows[0][:2] == ("sprites", "scale, angle")


def test_masked_latents_are_not_informative() -> None:
    learner = MirrorLearner()
    learner.masks[0] = False
    result = Disentanglement(n_images=20).run(learner, STREAM, 2)
    assert all(each.informativeness == 0 and each.mig == 0 for each in result.environments)


def test_invalid_use_is_refused() -> None:
    with pytest.raises(BadInput, match="in which a known factor varies"):
        Disentanglement().run(MirrorLearner(), UniformStream(), 2)
    with pytest.raises(BadInput, match="does not map images to latents"):
        Disentanglement().run(EmptyLearner(), STREAM, 2)
    with pytest.raises(BadInput, match="n_images is 5"):
        Disentanglement(n_images=5)
