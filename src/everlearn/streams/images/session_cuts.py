"""Sessions made of images that were not recorded in sessions: parts of the images of a class."""

from dataclasses import dataclass, field

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import Factors, FactorSpace
from everlearn.rng import FloatArray, IntArray
from everlearn.streams.images.cifar import open_cifar
from everlearn.streams.images.session_settings import Cifar50Settings
from everlearn.streams.images.source import Canvas, DatasetSource, ReorderedDataset, class_order
from everlearn.streams.scenarios.settings import N_SESSIONS

N_CLASSES = 50
THUMBNAIL = 8
"""Pixels per side of the images whose principal component is computed."""
N_ITERATIONS = 200
DECIMALS = 3
"""Projections are rounded, so that the order of images does not depend on the machine."""


@dataclass(kw_only=True, eq=False)
class CutSource(DatasetSource):
    """Every image of a dataset once; sessions are parts of the training images of a class."""

    principal: bool
    _sessions: dict[int, list[IntArray]] = field(default_factory=dict)

    def sessions(self, class_id: int) -> list[IntArray]:
        """Ids of the images of each training session."""
        if class_id not in self._sessions:
            ids = self.pool(class_id, "train")
            if self.principal:
                ids = np.sort(ids)
                ids = ids[np.argsort(principal_projection(self._thumbnails(class_id, ids)), kind="stable")]
            self._sessions[class_id] = np.array_split(ids, N_SESSIONS)
        return self._sessions[class_id]

    def _thumbnails(self, class_id: int, ids: IntArray) -> FloatArray:
        """(n, n_pixels) small images, whatever the size of the canvas."""
        raw = self.dataset.load(np.full(len(ids), class_id), ids)
        canvas = Canvas(image_size=THUMBNAIL, drawn_size=THUMBNAIL, rgb=self.canvas.rgb)
        images = canvas.draw(raw, np.arange(len(ids)), Factors.canonical(len(ids)))
        return images.reshape(len(ids), -1).astype(np.float64)


def principal_projection(rows: FloatArray) -> FloatArray:
    """The projection of each row on the first principal component, whose largest weight is positive.

    Example:
        >>> principal_projection(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]))
        array([-5.,  0.,  5.])
    """
    centered = rows - rows.mean(axis=0)
    component = centered.var(axis=0) + 1e-9
    for _ in range(N_ITERATIONS):
        component = centered.T @ (centered @ component)
        component /= max(float(np.abs(component).max()), 1e-300)
    component /= np.sqrt((component**2).sum()) or 1.0
    sign = 1.0 if component[np.abs(component).round(DECIMALS).argmax()] >= 0 else -1.0
    return np.asarray((sign * (centered @ component)).round(DECIMALS) + 0.0)


def make_source(settings: Cifar50Settings) -> CutSource:
    """The source for settings; files are indexed, not decoded."""
    size, rgb, seed = settings.image_size, settings.rgb, settings.seed
    dataset = open_cifar(settings.data, "cifar100", drawn_size=size, rgb=rgb)
    n_classes = min(settings.n_classes or N_CLASSES, dataset.n_classes)
    if (settings.n_classes or 0) > dataset.n_classes:
        raise BadInput(f"n_classes is {settings.n_classes}, but there are only {dataset.n_classes}")
    order = class_order(seed, dataset.n_classes)[:n_classes]
    return CutSource(
        dataset=ReorderedDataset(dataset, order),
        canvas=Canvas(image_size=size, drawn_size=size, rgb=rgb),
        split=(0.8, 0.0, 0.2),
        seed=seed,
        space=FactorSpace(scale=1, angle=1, x=1, y=1),
        principal=settings.sessions == "principal",
    )
