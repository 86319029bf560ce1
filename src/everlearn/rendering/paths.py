"""Flattening of outlines into polylines, split into the two halves left and right of x = 0."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.rng import FloatArray, IntArray
from everlearn.shapes import Outlines
from everlearn.shapes.jit import ZERO, compiled_in_place
from everlearn.shapes.spline import X, Y, evaluate, second_derivative

Float32Array = npt.NDArray[np.float32]

# The role of the line from a point to the next one; MOVE draws nothing.
MOVE, LEFT, RIGHT, DIVIDER, RETURN = 0, 1, 2, 3, 4
N_CODES = 5

TOLERANCE_PX = 0.1
MAX_CHORDS = 256


class Paths(NamedTuple):
    """Polylines, concatenated; path k consists of the points first[k] to first[k + 1]."""

    first: IntArray
    points: Float32Array
    codes: npt.NDArray[np.uint8]


def flatten_all(outlines: Outlines, unit_px: float) -> Paths:
    """`flatten` with one number of pixels per unit."""
    return flatten(outlines.cubics, outlines.n_vertices, np.full(len(outlines), unit_px))


def flatten(cubics: FloatArray, n_vertices: IntArray, unit_px: FloatArray) -> Paths:
    """Polylines within a tenth of a pixel of the outlines if one unit is `unit_px` pixels.

    The half with x > 0 is bounded by lines with the code RIGHT, the other by LEFT. Where the outline crosses
    x = 0, a DIVIDER runs along that axis and a RETURN back, so that each half is closed.
    """
    n_chords = np.empty((len(n_vertices), cubics.shape[1]), np.int64)
    longest, total = _count_chords(cubics, n_vertices, unit_px, n_chords)
    # Every chord may cross x = 0 once, and every two crossings need three more points.
    points = np.empty((4 * total + len(n_vertices), 2), np.float32)
    paths = Paths(np.zeros(len(n_vertices) + 1, np.int64), points, np.empty(len(points), np.uint8))
    end = _flatten(cubics, n_vertices, n_chords, np.empty((longest, 2)), paths)
    return Paths(paths.first, points[:end], paths.codes[:end])


@compiled_in_place
def _flatten(
    cubics: FloatArray, n_vertices: IntArray, n_chords: IntArray, chords: FloatArray, paths: Paths
) -> int:
    """Append the polylines to `paths`; returns the number of points."""
    end = ZERO
    for k in range(len(n_vertices)):
        length = _chord_ends(cubics[k], n_vertices[k], n_chords[k], chords)
        start, end = end, _split_halves(chords, length, end, paths.points, paths.codes)
        end = _close_halves(start, end, paths.points, paths.codes)
        paths.first[k + 1] = end
    return end


@compiled_in_place
def _count_chords(
    cubics: FloatArray, n_vertices: IntArray, unit_px: FloatArray, n_chords: IntArray
) -> tuple[int, int]:
    """The number of chords per segment, and the largest and total one of all outlines.

    The error of n chords is |second derivative| / 8 n².
    """
    longest, total = 0, 0
    for k in range(len(n_vertices)):
        length = 0
        for j in range(n_vertices[k]):
            largest = 0.0
            for s in (0.0, 1.0):
                x, y = second_derivative(cubics[k], j, X, s), second_derivative(cubics[k], j, Y, s)
                largest = max(largest, x * x + y * y)
            n = math.ceil(math.sqrt(math.sqrt(largest) * unit_px[k] / (8.0 * TOLERANCE_PX)))
            n_chords[k, j] = min(max(int(n), 1), MAX_CHORDS)
            length += n_chords[k, j]
        longest, total = max(longest, length), total + length
    return longest, total


@compiled_in_place
def _chord_ends(cubics: FloatArray, n: int, n_chords: IntArray, chords: FloatArray) -> int:
    """The ends of the chords, moved by -second derivative / 12 n², to enclose the area of the curve."""
    length = 0
    for j in range(n):
        before = j - 1 if j > 0 else n - 1
        offset = 1.0 / (12.0 * n_chords[j] * n_chords[j])
        offset_before = 1.0 / (12.0 * n_chords[before] * n_chords[before])
        for step in range(n_chords[j]):
            s = step / n_chords[j]
            for axis in range(2):
                move = offset * second_derivative(cubics, j, axis, s)
                if step == 0:
                    move = 0.5 * (move + offset_before * second_derivative(cubics, before, axis, 1.0))
                chords[length, axis] = evaluate(cubics, j, axis, s) - move
            length += 1
    return length


@compiled_in_place
def _split_halves(
    chords: FloatArray, length: int, end: int, points: Float32Array, codes: npt.NDArray[np.uint8]
) -> int:
    """Append the closed polyline at `end`, with a point wherever it crosses x = 0."""
    start = end
    for i in range(length):
        j = i + 1 if i < length - 1 else 0
        x, next_x = chords[i, 0], chords[j, 0]
        points[end, 0], points[end, 1] = x, chords[i, 1]
        codes[end] = RIGHT if x > 0.0 or (x == 0.0 and next_x > 0.0) else LEFT
        end += 1
        if x * next_x < 0.0:
            points[end, 0] = 0.0
            points[end, 1] = chords[i, 1] + x / (x - next_x) * (chords[j, 1] - chords[i, 1])
            codes[end] = RIGHT if next_x > 0.0 else LEFT
            end += 1
    points[end, 0], points[end, 1] = points[start, 0], points[start, 1]
    codes[end] = MOVE
    return end + 1


@compiled_in_place
def _close_halves(start: int, end: int, points: Float32Array, codes: npt.NDArray[np.uint8]) -> int:
    """Connect each point where the path leaves the right half to the one where it enters it again."""
    last = end - 1
    first_entry = leave = ZERO - 1
    for i in range(start, last):
        before = codes[i - 1 if i > start else last - 1]
        if before == RIGHT and codes[i] == LEFT:
            leave = i
        elif before == LEFT and codes[i] == RIGHT:
            if leave >= 0:
                end = _append_divider(leave, i, end, points, codes)
                leave = ZERO - 1
            else:
                first_entry = i
    if leave >= 0 and first_entry >= 0:
        end = _append_divider(leave, first_entry, end, points, codes)
    return end


@compiled_in_place
def _append_divider(
    leave: int, enter: int, end: int, points: Float32Array, codes: npt.NDArray[np.uint8]
) -> int:
    for source in (leave, enter, leave):
        points[end, 0], points[end, 1] = points[source, 0], points[source, 1]
        end += 1
    codes[end - 3], codes[end - 2], codes[end - 1] = DIVIDER, RETURN, MOVE
    return end
