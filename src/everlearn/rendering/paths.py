"""Outlines as chains of straight lines, fine enough for a given size, split into their two halves."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.rng import FloatArray
from everlearn.shapes.jit import compiled
from everlearn.shapes.spline import evaluate, second_derivative

IntArray = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]

# What the line from a point to the next one means.
PEN_UP, LEFT, RIGHT, DIVIDER, RETURN = 0, 1, 2, 3, 4
N_CODES = 5

TOLERANCE_PX = 0.1
MOST_CHORDS = 256


class Paths(NamedTuple):
    """Chains of points, one after another; path k is points first[k] to first[k + 1]."""

    first: IntArray
    points: Float32Array
    codes: npt.NDArray[np.uint8]


@compiled
def flatten(cubics: FloatArray, n_vertices: IntArray, unit_px: FloatArray) -> Paths:
    """Paths that stay within a tenth of a pixel of the outlines when their unit is `unit_px` pixels long.

    The half with x > 0 is bounded by lines coded RIGHT, the other by LEFT; where the outline changes sides,
    a DIVIDER runs along x = 0 and a RETURN back, so that either half is a closed figure of its own.
    """
    n_chords = _count_chords(cubics, n_vertices, unit_px)
    longest, total = 0, 0
    for k in range(len(n_vertices)):
        own = 0
        for j in range(n_vertices[k]):
            own += n_chords[k, j]
        longest, total = max(longest, own), total + own
    # Every chord may cross the middle once, and every two crossings need three more points.
    points = np.empty((4 * total + len(n_vertices), 2), np.float32)
    codes = np.empty(len(points), np.uint8)
    first = np.empty(len(n_vertices) + 1, np.int64)
    chain = np.empty((longest, 2))
    end = 0
    for k in range(len(n_vertices)):
        first[k] = end
        length = _chain(cubics[k], n_vertices[k], n_chords[k], chain)
        start, end = end, _split(chain, length, end, points, codes)
        end = _divide(start, end, points, codes)
    first[-1] = end
    return Paths(first, points, codes)


@compiled
def _count_chords(cubics: FloatArray, n_vertices: IntArray, unit_px: FloatArray) -> IntArray:
    """How many chords each piece needs: a chord strays from its curve by |second derivative| / 8 n²."""
    n_chords = np.ones((len(n_vertices), cubics.shape[1]), np.int64)
    for k in range(len(n_vertices)):
        for j in range(n_vertices[k]):
            worst = 0.0
            for s in (0.0, 1.0):
                x, y = second_derivative(cubics[k], j, 0, s), second_derivative(cubics[k], j, 1, s)
                worst = max(worst, x * x + y * y)
            needed = math.ceil(math.sqrt(math.sqrt(worst) * unit_px[k] / (8.0 * TOLERANCE_PX)))
            n_chords[k, j] = min(max(int(needed), 1), MOST_CHORDS)
    return n_chords


@compiled
def _chain(cubics: FloatArray, n: int, n_chords: IntArray, chain: FloatArray) -> int:
    """Corners of the chords, moved outwards so that the chain encloses the area of the curve.

    A chord cuts off area on the order of the second derivative; moving its ends by -second derivative /
    12 n² gives back exactly that order, and far fewer chords are needed.
    """
    length = 0
    for j in range(n):
        before = j - 1 if j > 0 else n - 1
        inward = 1.0 / (12.0 * n_chords[j] * n_chords[j])
        inward_before = 1.0 / (12.0 * n_chords[before] * n_chords[before])
        for step in range(n_chords[j]):
            s = step / n_chords[j]
            for axis in range(2):
                move = inward * second_derivative(cubics, j, axis, s)
                if step == 0:
                    move = 0.5 * (move + inward_before * second_derivative(cubics, before, axis, 1.0))
                chain[length, axis] = evaluate(cubics, j, axis, s) - move
            length += 1
    return length


@compiled
def _split(
    chain: FloatArray, length: int, end: int, points: Float32Array, codes: npt.NDArray[np.uint8]
) -> int:
    """Copy the closed chain behind `end`, with a point wherever it crosses x = 0."""
    start = end
    for i in range(length):
        j = i + 1 if i < length - 1 else 0
        x, next_x = chain[i, 0], chain[j, 0]
        points[end, 0], points[end, 1] = x, chain[i, 1]
        codes[end] = RIGHT if x > 0.0 or (x == 0.0 and next_x > 0.0) else LEFT
        end += 1
        if x * next_x < 0.0:
            points[end, 0] = 0.0
            points[end, 1] = chain[i, 1] + x / (x - next_x) * (chain[j, 1] - chain[i, 1])
            codes[end] = RIGHT if next_x > 0.0 else LEFT
            end += 1
    points[end, 0], points[end, 1] = points[start, 0], points[start, 1]
    codes[end] = PEN_UP
    return end + 1


@compiled
def _divide(start: int, end: int, points: Float32Array, codes: npt.NDArray[np.uint8]) -> int:
    """Join each point where the path leaves the right half to the one where it enters it again."""
    last = end - 1
    first_entry = leave = -1
    for i in range(start, last):
        before = codes[i - 1 if i > start else last - 1]
        if before == RIGHT and codes[i] == LEFT:
            leave = i
        elif before == LEFT and codes[i] == RIGHT:
            if leave >= 0:
                end = _append_divider(leave, i, end, points, codes)
                leave = -1
            else:
                first_entry = i
    if leave >= 0 and first_entry >= 0:
        end = _append_divider(leave, first_entry, end, points, codes)
    return end


@compiled
def _append_divider(
    leave: int, enter: int, end: int, points: Float32Array, codes: npt.NDArray[np.uint8]
) -> int:
    for corner in (leave, enter, leave):
        points[end, 0], points[end, 1] = points[corner, 0], points[corner, 1]
        end += 1
    codes[end - 3], codes[end - 2], codes[end - 1] = DIVIDER, RETURN, PEN_UP
    return end
