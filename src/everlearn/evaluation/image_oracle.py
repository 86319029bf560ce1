"""Oracle for generated images: environment, label and position by kernel ridge regression on real images.

Features are the distance of every pixel from the background, slightly blurred, centred and normalized, so
that labels do not depend on position, sharpness or contrast.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from everlearn.evaluation.samples import subsample
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch
from everlearn.streams.stream import Images

MAX_IMAGES = 800
"""Training images per environment."""
N_BLURS, N_STRONG_BLURS = 1, 7
"""Box blurs of all images, and of a second copy of every other training image."""
RIDGE = 0.1
NOISE_FLOOR = 0.1
"""Foreground below this share of the maximum is set to zero."""


class ImageOracle:
    """Classifier and position regressor fitted on a batch of real images of each environment."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.has_motion = [bool((np.ptp(positions_of(batch), axis=0) > 0).all()) for batch in batches]
        examples = [_Examples.from_batch(subsample(batch, MAX_IMAGES)) for batch in batches]
        self.known_labels = [np.unique(each.labels) for each in examples]
        self._classifiers = [
            _KernelRidge(each.features.foreground, _one_hot(each.labels)) for each in examples
        ]
        self._positions = [_PositionRegressor(each) for each in examples]
        fewer = [_Examples.from_batch(subsample(batch, 2 * MAX_IMAGES // len(batches))) for batch in batches]
        indices = np.repeat(np.arange(len(fewer)), [len(each.labels) for each in fewer])
        features = np.concatenate([each.features.concatenated for each in fewer])
        self._environments = _KernelRidge(features, _one_hot(indices))

    def environments(self, images: Images) -> IntArray:
        """The index of the environment that each image resembles."""
        return np.asarray(self._environments(_features(images).concatenated).argmax(axis=1), np.int64)

    def labels(self, images: Images, environment: int) -> IntArray:
        """The label of each image among those of an environment."""
        scores = self._classifiers[environment](_features(images).foreground)
        return np.asarray(self.known_labels[environment][scores.argmax(axis=1)], np.int64)

    def positions(self, images: Images, environment: int) -> FloatArray:
        """The position of the object in each image, (n, 2), as in an environment."""
        return self._positions[environment](_features(images))


def positions_of(batch: Batch) -> FloatArray:
    """True positions, (n, 2), from 0 to 1; the image centre if factors are unknown."""
    if batch.factors is None:
        return np.full((len(batch), 2), 0.5)
    return np.stack([batch.factors.x, batch.factors.y], axis=1)


class _Features(NamedTuple):
    """Centred foreground (n, H * W), its centre of mass (n, 2) and the background level (n, 1)."""

    foreground: FloatArray
    centre: FloatArray
    background: FloatArray

    @property
    def concatenated(self) -> FloatArray:
        """All features, scaled to similar weight."""
        return np.concatenate([self.foreground, 4 * self.centre, self.background], axis=1)


class _Examples(NamedTuple):
    features: _Features
    labels: IntArray
    positions: FloatArray

    @classmethod
    def from_batch(cls, batch: Batch) -> "_Examples":
        """Features and targets; every other image is added a second time, strongly blurred."""
        blurred = batch[::2]
        both = zip(_features(batch.images), _features(blurred.images, N_STRONG_BLURS), strict=True)
        positions = np.concatenate([positions_of(batch), positions_of(blurred)])
        features = _Features(*(np.concatenate(pair) for pair in both))
        return cls(features, np.concatenate([batch.labels, blurred.labels]), positions)


class _KernelRidge:
    """Kernel ridge regression of targets (n, k) with a Gaussian kernel of median width."""

    def __init__(self, features: FloatArray, targets: FloatArray) -> None:
        self._features, self._mean = features, targets.mean(axis=0)
        distances = self._squared_distances(features)
        self._scale = float(np.median(distances)) or 1.0
        kernel = np.exp(-distances / self._scale) + RIDGE * np.eye(len(features))
        self._weights = np.linalg.solve(kernel, targets - self._mean)

    def __call__(self, features: FloatArray) -> FloatArray:
        predicted = np.exp(-self._squared_distances(features) / self._scale) @ self._weights
        return np.asarray(self._mean + predicted)

    def _squared_distances(self, features: FloatArray) -> FloatArray:
        squares = (features**2).sum(axis=1)[:, None] + (self._features**2).sum(axis=1)
        return np.asarray(np.maximum(squares - 2 * features @ self._features.T, 0))


class _PositionRegressor:
    """Linear regression on the centre of mass, plus kernel ridge regression of its residuals."""

    def __init__(self, examples: _Examples) -> None:
        fitted = np.linalg.lstsq(_with_bias(examples.features.centre), examples.positions, rcond=None)
        self._weights = fitted[0]
        self._residual = _KernelRidge(
            examples.features.foreground, examples.positions - self._linear(examples.features)
        )

    def __call__(self, features: _Features) -> FloatArray:
        return np.asarray(self._linear(features) + self._residual(features.foreground))

    def _linear(self, features: _Features) -> FloatArray:
        return np.asarray(_with_bias(features.centre) @ self._weights)


def _features(images: Images, n_blurs: int = N_BLURS) -> _Features:
    pixels = images.astype(np.float64) / 255
    pixels = pixels.mean(axis=3) if pixels.ndim == 4 else pixels
    border = np.concatenate([pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]], axis=1)
    background = np.median(border, axis=1)
    foreground = _blur(np.abs(pixels - background[:, None, None]), n_blurs)
    foreground[foreground < NOISE_FLOOR * foreground.max(axis=(1, 2), keepdims=True)] = 0
    centre = _centre_of_mass(foreground)
    flat = _shift_to_centre(foreground, centre).reshape(len(foreground), -1)
    norm = np.linalg.norm(flat, axis=1, keepdims=True)
    flat = np.divide(flat, norm, out=np.zeros_like(flat), where=norm > 0)
    return _Features(flat, centre / foreground.shape[1:] - 0.5, background[:, None])


def _blur(foreground: FloatArray, times: int) -> FloatArray:
    """Box blur of width 3, repeated."""
    for axis in (1, 2) * times:
        widths = [(1, 1) if each == axis else (0, 0) for each in range(3)]
        padded, n = np.pad(foreground, widths, mode="edge"), foreground.shape[axis]
        shifted = [np.take(padded, range(start, start + n), axis) for start in range(3)]
        foreground = np.mean(shifted, axis=0)
    return foreground


def _centre_of_mass(foreground: FloatArray) -> FloatArray:
    """(n, 2) in pixels, row then column; the image centre if there is no foreground."""
    total = foreground.sum(axis=(1, 2))
    marginals = foreground.sum(axis=2), foreground.sum(axis=1)
    sums = np.stack([(each * np.arange(each.shape[1])).sum(axis=1) for each in marginals], axis=1)
    middle = np.tile((np.array(foreground.shape[1:]) - 1) / 2, (len(foreground), 1))
    return np.asarray(np.divide(sums, total[:, None], out=middle, where=total[:, None] > 0))


def _shift_to_centre(foreground: FloatArray, centre: FloatArray) -> FloatArray:
    """Images shifted cyclically by whole pixels, so that the centre of mass is in the middle."""
    _, height, width = foreground.shape
    shift = np.rint(centre - [(height - 1) / 2, (width - 1) / 2]).astype(int)
    rows, columns = ((np.arange(n) + by[:, None]) % n for n, by in zip((height, width), shift.T, strict=True))
    return np.asarray(
        foreground[np.arange(len(foreground))[:, None, None], rows[:, :, None], columns[:, None, :]]
    )


def _one_hot(labels: IntArray) -> FloatArray:
    return np.asarray(labels[:, None] == np.unique(labels), np.float64)


def _with_bias(columns: FloatArray) -> FloatArray:
    return np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
