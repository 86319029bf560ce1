"""An endless family of shapes."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range
from everlearn.rng import check_seed
from everlearn.shapes.jit import compiled
from everlearn.shapes.outlines import Outlines
from everlearn.shapes.philox import Word, normal_pair, words
from everlearn.shapes.spline import FloatArray, is_simple, join, main_axis, normalise, turn

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


MOST_VERTICES = 32
ORDERS = (1, 3)
LAST_INDEX = 2**63 - 1

# What the dials do at their ends; see ShapeFamily.
CLOSEST_KIN = 0.98
CALMEST = 0.25


@dataclass(frozen=True, kw_only=True)
class ShapeFamily:
    """Shape number i of an endless family, for any i: pure in (seed, i), the same at every resolution.

    A shape starts as a regular polygon on the unit circle. Each corner is moved in and out (its radius is
    normal around 1, kept within 0.1..1.9) and to and fro (within its own sector), and the corners are
    joined by a closed spline. The result is turned so that its main axis is vertical, moved so that the
    centroid of its area is the origin, and stretched so that its bounding box is 1 x 1.

    A shape that crosses itself, covers less than 0.05 of its box or has two corners closer than 2**-10 is
    drawn again, with the attempt as part of the address. After 64 attempts the polygon through the corners
    is taken instead of the curve, and if that is no better, the regular polygon.

    Args:
        seed: which family.
        vertices: fewest and most corners; every number between is equally likely.
        radial_noise: standard deviation of the radius, 0 to 1.
        angular_noise: standard deviation of the angle as a share of half a sector (pi / corners), 0 to 1.
        spline_orders: 1 draws straight lines, 3 smooth curves; one of them is drawn for each shape.
        similarity: 0 for independent shapes. Otherwise shape i descends from an ancestor it shares with
            all shapes of the same i // siblings: with this probability it takes over the number of corners
            and the order, and of its noise a share r = 0.98 * similarity is the ancestor's and
            sqrt(1 - r²) its own. At 1, siblings differ only by own noise of a fifth of the usual size.
        siblings: how many consecutive shapes share an ancestor; means nothing while similarity is 0.
        difficulty: 0 for the paper's shapes. Both noises are multiplied by 1 - 0.75 * difficulty, so that
            shapes come closer to regular polygons and are harder to tell apart.

    Example:
        >>> family = ShapeFamily(seed=0)
        >>> family.outline(1_000_000) == family.outlines([7, 1_000_000])[1]
        True

    Reference: Dziadzio et al. 2024, arXiv:2312.16731.
    """

    seed: int = 0
    vertices: tuple[int, int] = (5, 8)
    radial_noise: float = 0.4
    angular_noise: float = 0.5
    spline_orders: tuple[int, ...] = (1, 3)
    similarity: float = 0.0
    siblings: int = 10
    difficulty: float = 0.0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        _check_vertices(self.vertices)
        if not self.spline_orders or not set(self.spline_orders) <= set(ORDERS):
            raise BadInput(f"spline_orders is {self.spline_orders}; give (1,), (3,) or (1, 3)")
        for name in ("radial_noise", "angular_noise", "similarity", "difficulty"):
            check_range(name, getattr(self, name), 0, 1)
        check_range("siblings", self.siblings, 1, LAST_INDEX)

    def outline(self, index: int) -> Outlines:
        """Shape number `index`, alone."""
        return self.outlines([index])

    def outlines(self, indices: npt.ArrayLike) -> Outlines:
        """The shapes with these numbers, 0 to 2**63 - 1, in this order and as often as named."""
        rows = _as_indices(indices)
        cubics = np.empty((len(rows), self.vertices[1], 2, 4))
        n_vertices = np.empty(len(rows), np.int64)
        grow(self._recipe, rows.view(np.uint64), cubics, n_vertices)
        return Outlines(cubics, n_vertices)

    @cached_property
    def _recipe(self) -> Recipe:
        spread = 1.0 - (1.0 - CALMEST) * self.difficulty
        inherited = CLOSEST_KIN * self.similarity
        return Recipe(
            seed=np.uint64(self.seed),
            fewest=int(self.vertices[0]),
            most=int(self.vertices[1]),
            orders=np.array(self.spline_orders, np.int64),
            radial=float(self.radial_noise * spread),
            angular=float(self.angular_noise * spread),
            siblings=np.uint64(self.siblings),
            similarity=float(self.similarity),
            inherited=float(inherited),
            own=float(np.sqrt(1.0 - inherited**2)),
        )


def _check_vertices(vertices: tuple[int, int]) -> None:
    wanted = f"it must be two whole numbers from 3 to {MOST_VERTICES}, fewest first"
    try:
        fewest, most = vertices
    except (TypeError, ValueError):
        raise BadInput(f"vertices is {vertices!r}; {wanted}") from None
    whole = all(isinstance(n, int | np.integer) for n in (fewest, most))
    if not (whole and 3 <= fewest <= most <= MOST_VERTICES):
        raise BadInput(f"vertices is {vertices!r}; {wanted}")


def _as_indices(indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
    rows = np.asarray(indices)
    if rows.size == 0:
        return np.empty(0, np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise BadInput(f"shape numbers are {indices!r}; give a flat list of whole numbers")
    if int(rows.min()) < 0 or int(rows.max()) > LAST_INDEX:
        raise BadInput(f"shape numbers run from {rows.min()} to {rows.max()}; they must be 0 to 2**63 - 1")
    return np.ascontiguousarray(rows, dtype=np.int64)
