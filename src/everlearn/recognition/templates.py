"""Templates, which find an exemplar in front of any background by gradients and colours in cells.

Directions that all templates share do not discriminate between them, so templates are whitened by their own
covariance (exemplar-LDA: Hariharan et al., Discriminative decorrelation for clustering and classification).
Only cells of the object are used.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
from PIL import Image

from everlearn.recognition.views import geometry
from everlearn.rng import FloatArray, IntArray
from everlearn.shapes.jit import compiled
from everlearn.streams.images.decode import Pixels, premultiplied
from everlearn.streams.stream import Images

Floats32 = npt.NDArray[np.float32]
Quantised = npt.NDArray[np.int8]

CELL, N_CELLS = 4, 12
"""Pixels per side of a cell, and cells per side of a template."""
N_ORIENTATIONS = 6
N_CHANNELS = N_ORIENTATIONS + 3
LENGTH = N_CELLS * N_CELLS * N_CHANNELS
N_TURNS, UPRIGHT_TURN = 24, math.radians(12)
"""Templates of a full turn, and the angle between the templates of objects that are seen upright."""
ANGLE_DISTANCE = 2
"""Poses of an exemplar that are at most this many templates apart count as one."""
RATIOS = (1.1, 1.3, 1.55, 1.85, 2.2, 2.6, 3.1)
"""Shorter sides of the image, in units of the object, at which it is searched."""
NEAR, NEAR_RATIOS = 1.5, (1.35, 1.5, 1.67)
"""Side of the square around an object that was cut out, over its longer side, and its ratios."""
GRADIENT_FLOOR, COLOUR_FLOOR = 6.0, 20.0
"""Gray levels that suppress noise in flat parts of an image."""
MAX_GRADIENT, COLOUR_WEIGHT = 0.6, 0.5
SHRINKAGE, FEW = 1.0, 50
"""Variance, as a share of the mean, that whitening adds to every direction; twice as much for FEW exemplars.

The covariance of few exemplars describes them more than objects in general.
"""
MAX_FITTED = 768
"""Templates that the covariance is computed from; more would take too long when a memory is opened."""
MAX_SEARCHED = 40
"""Exemplars that are searched for in one image."""
STEPS = 127 / 1.5
"""Quantisation steps of a stored template per unit."""


def template_angles(*, upright: bool) -> list[float]:
    """The angles of the templates of an exemplar."""
    if upright:
        return [-UPRIGHT_TURN, 0.0, UPRIGHT_TURN]
    return [2 * math.pi * i / N_TURNS for i in range(N_TURNS)]


def templates_of(exemplar: Pixels, angles: list[float]) -> Quantised:
    """The templates (angles, LENGTH) of an exemplar (size, size, 4)."""
    small = Image.fromarray(premultiplied(exemplar)).reduce(2)
    found = [_template(small, exemplar, angle) for angle in angles]
    return np.asarray(np.rint(np.stack(found).clip(-1.5, 1.5) * STEPS), np.int8)


def _template(small: Image.Image, exemplar: Pixels, angle: float) -> Floats32:
    view, side = geometry(exemplar, angle), N_CELLS * CELL
    half = view.half * small.width / 2 * (1 + 2 / N_CELLS)  # with a margin of one cell
    center = (view.center + 1) * small.width / 2
    box = (center[0] - half, center[1] - half, center[0] + half, center[1] + half)
    turned = small.rotate(math.degrees(angle), resample=Image.Resampling.BICUBIC)
    size = side + 2 * CELL
    moved = turned.transform((size, size), Image.Transform.EXTENT, box, resample=Image.Resampling.BILINEAR)
    pixels = np.asarray(moved, np.float32)
    alpha = pixels[..., 3:] / 255
    # The background may be dark or light; the mean of both keeps what belongs to the object.
    dark, light = (channels((pixels[..., :3] + (1 - alpha) * level).astype(np.float32)) for level in (0, 255))
    mean = (dark + light) / 2
    cells = N_CELLS + 2
    inside = alpha[..., 0].reshape(cells, CELL, cells, CELL).mean(axis=(1, 3))
    near = np.max([inside[i : i + N_CELLS, j : j + N_CELLS] for i in range(3) for j in range(3)], axis=0)
    template = mean[1:-1, 1:-1]
    template[..., :N_ORIENTATIONS] *= (near > 0.3)[..., None]
    template[..., N_ORIENTATIONS:] *= (inside[1:-1, 1:-1] > 0.6)[..., None]
    return np.asarray(template.reshape(-1), np.float32)


@compiled
def channels(image: Floats32) -> Floats32:
    """Gradients and colours of the cells of an image (H, W, 3): (H / CELL, W / CELL, N_CHANNELS).

    A histogram of unsigned gradient directions, relative to the gradients around the cell, and the colour
    relative to the brightness.
    """
    rows, columns = image.shape[0] // CELL, image.shape[1] // CELL
    out = np.zeros((rows, columns, N_CHANNELS), np.float32)
    energy = np.zeros((rows, columns), np.float32)
    share = 1.0 / (CELL * CELL)
    for y in range(rows * CELL):
        for x in range(columns * CELL):
            i, j = y // CELL, x // CELL
            for c in range(3):
                out[i, j, N_ORIENTATIONS + c] += share * image[y, x, c]
            if y == 0 or x == 0 or y == image.shape[0] - 1 or x == image.shape[1] - 1:
                continue
            largest, gx, gy = 0.0, 0.0, 0.0
            for c in range(3):
                dx, dy = image[y, x + 1, c] - image[y, x - 1, c], image[y + 1, x, c] - image[y - 1, x, c]
                if dx * dx + dy * dy > largest:
                    largest, gx, gy = dx * dx + dy * dy, dx, dy
            if largest > 0.0:
                size = share * math.sqrt(largest)
                place = math.atan2(gy, gx) * (N_ORIENTATIONS / math.pi)
                low = math.floor(place)
                part = place - low
                first = int(low) % N_ORIENTATIONS
                out[i, j, first] += size * (1.0 - part)
                out[i, j, (first + 1) % N_ORIENTATIONS] += size * part
                energy[i, j] += size
    for i in range(rows):
        for j in range(columns):
            around = 0.0
            for u in range(i - 1, i + 2):
                for v in range(j - 1, j + 2):
                    around += energy[min(max(u, 0), rows - 1), min(max(v, 0), columns - 1)]
            for k in range(N_ORIENTATIONS):
                out[i, j, k] = min(out[i, j, k] / (around / 9.0 + GRADIENT_FLOOR), MAX_GRADIENT)
            mean = (out[i, j, N_ORIENTATIONS] + out[i, j, N_ORIENTATIONS + 1]) + out[i, j, N_CHANNELS - 1]
            mean /= 3.0
            for k in range(N_ORIENTATIONS, N_CHANNELS):
                out[i, j, k] = COLOUR_WEIGHT * (out[i, j, k] - mean) / (mean + COLOUR_FLOOR)
    return out


def windows(image: Images, ratios: tuple[float, ...] = RATIOS) -> tuple[Floats32, FloatArray]:
    """All windows (n, LENGTH) of an image (H, W, 3) at some scales, and their boxes (n, 4) in pixels."""
    whole, found, boxes = Image.fromarray(image), [], []
    height, width = image.shape[:2]
    for ratio in ratios:
        factor = round(ratio * N_CELLS) * CELL / min(height, width)
        size = round(width * factor / CELL) * CELL, round(height * factor / CELL) * CELL
        resized = whole.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
        cells = channels(np.asarray(resized, np.float32))
        views = np.lib.stride_tricks.sliding_window_view(cells, (N_CELLS, N_CELLS), axis=(0, 1))
        found.append(views.transpose(0, 1, 3, 4, 2).reshape(-1, LENGTH))
        top, left = np.meshgrid(np.arange(views.shape[0]), np.arange(views.shape[1]), indexing="ij")
        box = np.stack([left, top, left + N_CELLS, top + N_CELLS], axis=-1).reshape(-1, 4)
        boxes.append(box * (CELL * np.array([width / size[0], height / size[1]] * 2)))
    return np.concatenate(found), np.concatenate(boxes)


def windows_near(image: Images, box: tuple[float, ...]) -> tuple[Floats32, FloatArray]:
    """The windows of an image (H, W, 3) around a box, and their boxes (n, 4) in pixels."""
    left, top, right, bottom = box
    half = NEAR * max(right - left, bottom - top) / 2
    x, y = round((left + right) / 2 - half), round((top + bottom) / 2 - half)
    side = max(2, round(2 * half))
    rows = np.clip(np.arange(y, y + side), 0, image.shape[0] - 1)
    columns = np.clip(np.arange(x, x + side), 0, image.shape[1] - 1)
    found, boxes = windows(np.ascontiguousarray(image[rows][:, columns]), NEAR_RATIOS)
    return found, boxes + np.array([x, y, x, y])


class TemplateSearch:
    """The search for exemplars in an image.

    Args:
        templates: (n exemplars, angles, LENGTH), quantised.
    """

    def __init__(self, templates: Quantised) -> None:
        self._templates = templates
        self._filters: dict[int, Floats32] = {}

    @cached_property
    def _whitening(self) -> tuple[Floats32, Floats32, Floats32, float]:
        """The mean of all templates, directions (LENGTH, k), the removed share of each, and the factor."""
        flat = self._templates.reshape(-1, LENGTH)
        some = flat[np.linspace(0, len(flat) - 1, min(MAX_FITTED, len(flat))).astype(int)] / np.float32(STEPS)
        centered = some - (mean := some.mean(axis=0))
        # The Gram matrix of the templates has the variances of their covariance, and is smaller.
        variances, vectors = np.linalg.eigh(centered @ centered.T / max(1, len(some) - 1))
        added = SHRINKAGE * (1 + FEW / len(self._templates))
        shrinkage = added * float(variances.sum()) / LENGTH + 1e-6
        kept = variances > 0.05 * shrinkage
        directions = centered.T @ vectors[:, kept]
        directions /= np.linalg.norm(directions, axis=0)
        removed = variances[kept] / (variances[kept] + shrinkage)
        return mean, directions, removed.astype(np.float32), 1 / shrinkage

    def _filter(self, row: int) -> Floats32:
        """The linear filters (angles, LENGTH) of an exemplar; their responses have a variance of 1."""
        if row not in self._filters:
            mean, directions, removed, factor = self._whitening
            raw = self._templates[row] / np.float32(STEPS)
            centered = raw - mean * (raw != 0)
            white = factor * (centered - (centered @ directions * removed) @ directions.T)
            deviation = np.sqrt(np.maximum((white * centered).sum(axis=1, keepdims=True), 1e-9))
            self._filters[row] = white / deviation
        return self._filters[row]

    def search(
        self, windows: Floats32, boxes: FloatArray, rows: IntArray, mean: Floats32 | None = None
    ) -> list[tuple[float, int, int, FloatArray]]:
        """Score, row, number of the angle and box of the two best poses of each exemplar, best first.

        Args:
            windows: (n, LENGTH) of an image.
            boxes: (n, 4) of the windows, in pixels.
            rows: of the exemplars to search for.
            mean: the mean window of the background; None for that of all templates.
        """
        filters = np.concatenate([self._filter(row) for row in rows.tolist()])
        offsets = filters @ (self._whitening[0] if mean is None else mean)
        # In this order, since the largest score of a row is found ten times faster.
        scores = filters @ windows.T
        best_window = scores.argmax(axis=1)
        by_angle = scores[np.arange(len(filters)), best_window] - offsets
        best_window, by_angle = (each.reshape(len(rows), -1) for each in (best_window, by_angle))
        poses = []
        for i, row in enumerate(rows.tolist()):
            for angle in _two_best(by_angle[i]):
                poses.append((float(by_angle[i, angle]), row, angle, boxes[best_window[i, angle]]))
        return sorted(poses, key=lambda each: -each[0])


def _two_best(by_angle: Floats32) -> list[int]:
    """The best angle, and the best one that is not near it, for symmetric objects."""
    first, n = int(by_angle.argmax()), len(by_angle)
    distance = np.abs((np.arange(n) - first + n // 2) % n - n // 2)
    if not (distance > ANGLE_DISTANCE).any():
        return [first]
    return [first, int(np.where(distance > ANGLE_DISTANCE, by_angle, -np.inf).argmax())]
