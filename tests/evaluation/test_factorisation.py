"""Codes that are the factors, and codes that mix them."""

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.latent_factors import disentanglement
from everlearn.rng import FloatArray
from everlearn.streams import Batch, environments
from everlearn.streams.stream import Images

from .imagined import Flat, Mirror, Silent

STREAM = environments(
    sequence=["sprites", "moving-sprites"], image_size=16, n_shapes=2, images_per_shape=2000
)


class Knowing(Silent):
    """Was told the factors of all test images, and says them, turned by some angle."""

    def __init__(self, turn: float = 0.0) -> None:
        super().__init__()
        self._turn = np.kron(np.eye(2), [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        self._told = {key: row for task in STREAM for key, row in self._rows(task.test)}

    def encode(self, images: Images) -> FloatArray:
        factors = np.stack([self._told[image.tobytes()] for image in images])
        return factors @ self._turn

    @staticmethod
    def _rows(batch: Batch) -> list[tuple[bytes, FloatArray]]:
        assert batch.factors is not None
        columns = batch.factors.array() * [6, 1, 6, 6]  # of about the same size as an angle
        return [(image.tobytes(), row) for image, row in zip(batch.images, columns, strict=True)]


def test_codes_that_are_the_factors_are_disentangled_and_turned_ones_are_not() -> None:
    clear, mixed = (disentanglement(Knowing(turn), STREAM, 2, size=400) for turn in (0.0, 0.7))
    assert [each.name for each in clear] == ["sprites", "moving-sprites"]
    assert clear[0].factors == ("scale", "angle")
    assert clear[1].factors == ("scale", "angle", "x", "y")
    for right, wrong in zip(clear, mixed, strict=True):
        assert right.disentanglement > 0.85
        assert right.completeness > 0.85
        assert right.informativeness > 0.95
        assert right.mig > 0.8
        assert right.sap > 0.9
        assert wrong.disentanglement < 0.6
        assert wrong.mig < 0.4
        assert right.importances.shape == (4, len(right.factors))


def test_closed_latents_say_nothing() -> None:
    learner = Mirror()
    learner.masks[0, :] = False
    found = disentanglement(learner, STREAM, 2, size=40)
    assert all(each.informativeness == 0 and each.mig == 0 for each in found)


def test_questions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="no factor is known to vary"):
        disentanglement(Mirror(), Flat(), 2)
    with pytest.raises(BadInput, match="does not describe images by numbers"):
        disentanglement(Silent(), STREAM, 2)
    with pytest.raises(BadInput, match="size is 5"):
        disentanglement(Mirror(), STREAM, 2, size=5)
