"""From (seed, index) to an outline, compiled."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.shapes.compiled import compiled
from everlearn.shapes.philox import Word, normal_pair, words
from everlearn.shapes.simple import is_simple
from everlearn.shapes.spline import FloatArray, join, main_axis, normalise, turn

IntArray = npt.NDArray[np.int64]

ATTEMPTS = 64
LEAST_AREA = 0.05
LEAST_CHORD = 2.0**-10
GRID = 2.0**20
SECTOR_MARGIN = 1e-6
SHORTEST, LONGEST = 0.1, 1.9
ANCESTOR_TURN = 1 << 16


class Recipe(NamedTuple):
    """What a family asks of its shapes, in the form the compiled code wants it."""

    seed: np.uint64
    fewest: int
    most: int
    orders: IntArray
    radial: float
    angular: float
    siblings: np.uint64
    similarity: float
    inherited: float
    own: float


class Workspace(NamedTuple):
    """Room for one shape in the making."""

    noise: FloatArray
    ancestor: FloatArray
    vertices: FloatArray
    chords: FloatArray
    solver: FloatArray


@compiled
def grow(recipe: Recipe, indices: npt.NDArray[np.uint64], cubics: FloatArray, n_vertices: IntArray) -> None:
    """Fill cubics (len, most, 2, 4) and n_vertices with the outlines of these indices."""
    most = recipe.most
    work = Workspace(
        np.zeros((most, 2)), np.zeros((most, 2)), np.empty((most, 2)), np.empty(most), np.empty((3, most))
    )
    oldest = 1 if recipe.similarity > 0.0 else 0
    for k in range(len(indices)):
        n, order = 0, 0
        for age in range(oldest, -1, -1):
            index = indices[k] // recipe.siblings if age > 0 else indices[k]
            n, order = _settle(recipe, index, age * ANCESTOR_TURN, n, order, work, cubics[k])
        n_vertices[k] = n


@compiled
def _settle(
    recipe: Recipe,
    index: Word,
    first_turn: int,
    kin_n: int,
    kin_order: int,
    work: Workspace,
    cubics: FloatArray,
) -> tuple[int, int]:
    """Draw until a sound outline is found; give its number of vertices and its order.

    After 64 attempts the curve gives way to the polygon through its vertices, and if that is unsound too,
    to the regular polygon, which never is.
    """
    for j in range(recipe.most):
        work.ancestor[j, 0], work.ancestor[j, 1] = work.noise[j, 0], work.noise[j, 1]
    n, order = 0, 0
    for attempt in range(ATTEMPTS + 2):
        n, order = _kind(recipe, index, first_turn + attempt, kin_n, kin_order)
        # A child may have more vertices than its ancestor and still inherits noise for each.
        n_noisy = n if first_turn == 0 else recipe.most
        _draw_noise(recipe, index, first_turn + attempt, n_noisy, kin_n > 0, work)
        if attempt >= ATTEMPTS:
            order = 1
        if _shape(recipe, n, order, attempt > ATTEMPTS, work, cubics):
            break
    return n, order


@compiled
def _kind(recipe: Recipe, index: Word, turn_: int, kin_n: int, kin_order: int) -> tuple[int, int]:
    """The number of vertices and the spline order: the ancestor's with probability `similarity`."""
    w0, w1, w2, _ = words(recipe.seed, index, 0, turn_)
    if kin_n > 0 and (float(w2) + 0.5) * 2.0**-32 < recipe.similarity:
        return kin_n, kin_order
    n = recipe.fewest + int((w0 * Word(recipe.most - recipe.fewest + 1)) >> Word(32))
    return n, recipe.orders[int((w1 * Word(len(recipe.orders))) >> Word(32))]


@compiled
def _draw_noise(recipe: Recipe, index: Word, turn_: int, n: int, has_kin: bool, work: Workspace) -> None:
    """Standard normal noise for n vertices, blended with the ancestor's where there is one."""
    for j in range(n):
        radial, angular = normal_pair(recipe.seed, index, 1 + j, turn_)
        if has_kin:
            radial = recipe.inherited * work.ancestor[j, 0] + recipe.own * radial
            angular = recipe.inherited * work.ancestor[j, 1] + recipe.own * angular
        work.noise[j, 0], work.noise[j, 1] = radial, angular


@compiled
def _shape(recipe: Recipe, n: int, order: int, regular: bool, work: Workspace, cubics: FloatArray) -> bool:
    """Make the outline from the noise; say whether it is sound."""
    _place_vertices(recipe, n, 0.0 if regular else 1.0, work)
    if join(work.vertices, n, order, work.chords, work.solver, cubics) < LEAST_CHORD:
        return False
    x, y = main_axis(cubics, n, work.chords)
    turn(cubics, n, -y, -x)  # the main axis comes to point up the screen, as in the original
    area = normalise(cubics, n)
    return area >= LEAST_AREA and is_simple(cubics, n, order)


@compiled
def _place_vertices(recipe: Recipe, n: int, strength: float, work: Workspace) -> None:
    """Corners of a regular polygon, each moved in and out and to and fro within its own sector.

    Coordinates go to a grid of 2**-20, because the last bit of a sine differs between machines and
    everything after this point does not.
    """
    sector = math.pi / n - SECTOR_MARGIN
    for j in range(n):
        radius = min(max(1.0 + strength * recipe.radial * work.noise[j, 0], SHORTEST), LONGEST)
        shift = min(max(strength * recipe.angular * sector * work.noise[j, 1], -sector), sector)
        angle = 2.0 * math.pi * j / n + shift
        work.vertices[j, 0] = math.floor(radius * math.cos(angle) * GRID + 0.5) / GRID
        work.vertices[j, 1] = math.floor(radius * math.sin(angle) * GRID + 0.5) / GRID
