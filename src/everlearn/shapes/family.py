"""Families of procedurally generated shapes."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everlearn.errors import BadInput, check_range, is_integer
from everlearn.rng import FloatArray, IntArray, check_seed
from everlearn.shapes.jit import ZERO, compiled_in_place
from everlearn.shapes.outlines import Outlines
from everlearn.shapes.philox import Word, normal_pair, words
from everlearn.shapes.spline import (
    CHORDS_PER_SEGMENT,
    interpolate,
    is_simple,
    normalize,
    principal_axis,
    rotate,
)

MAX_VERTICES = 32
MAX_INDEX = 2**63 - 1
ORDERS = (1, 3)
MAX_INHERITED = 0.98
"""Fraction of the prototype's noise at similarity 1."""
MIN_NOISE = 0.25
"""Factor on both noises at difficulty 1."""

MAX_ATTEMPTS = 64
MIN_AREA = 0.05
MIN_CHORD = 2.0**-10
MIN_RADIUS, MAX_RADIUS = 0.1, 1.9
GRID = 2.0**20
SECTOR_MARGIN = 1e-6
PROTOTYPE_PURPOSE = 1 << 16
"""First purpose of the random words of prototypes; the purposes of shapes start at 0."""


class Parameters(NamedTuple):
    """The parameters of a family for compiled code."""

    seed: np.uint64
    min_vertices: int
    max_vertices: int
    orders: IntArray
    radial: float
    angular: float
    group_size: np.uint64
    similarity: float
    inherited: float
    own: float


class Workspace(NamedTuple):
    """Buffers for the generation of one outline."""

    noise: FloatArray
    prototype_noise: FloatArray
    vertices: FloatArray
    chords: FloatArray
    solver: FloatArray
    points: FloatArray


def new_workspace(n: int) -> Workspace:
    """Buffers for outlines of up to n vertices."""
    noise, prototype_noise, points = np.zeros((n, 2)), np.zeros((n, 2)), np.empty((n * CHORDS_PER_SEGMENT, 2))
    return Workspace(noise, prototype_noise, np.empty((n, 2)), np.empty(n), np.empty((3, n)), points)


@dataclass(frozen=True, kw_only=True)
class ShapeFamily:
    """An unlimited family of shapes; shape i is a pure function of (seed, i), independent of resolution.

    The vertices of a regular polygon on the unit circle are moved radially (clipped to 0.1..1.9) and
    tangentially (within their sectors). A closed spline interpolates them. Its principal axis is rotated to
    the vertical, its centroid moved to the origin and its bounding box scaled to 1 x 1.

    A shape that intersects itself, covers less than 0.05 of its bounding box or has two vertices closer than
    2**-10 is sampled again; after 64 attempts it is the polygon through its vertices or a regular polygon.

    Args:
        seed: of the family.
        vertices: minimum and maximum number of vertices; the number is uniform in between.
        radial_noise: standard deviation of the radius, 0 to 1.
        angular_noise: standard deviation of the angle relative to half a sector (pi / vertices), 0 to 1.
        spline_orders: 1 for polygons, 3 for smooth curves; sampled for each shape.
        similarity: 0 for independent shapes. Otherwise shapes resemble the prototype of their group: with
            this probability they have its number of vertices and order, and their noise is r times that of
            the prototype plus sqrt(1 - r²) times their own, where r = 0.98 * similarity.
        group_size: number of consecutive shapes with the same prototype; ignored if similarity is 0.
        difficulty: 0 for the shapes of the paper; both noises are multiplied by 1 - 0.75 * difficulty.

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
    group_size: int = 10
    difficulty: float = 0.0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        vertices = self.vertices
        is_pair = isinstance(vertices, tuple | list) and len(vertices) == 2 and all(map(is_integer, vertices))
        if not is_pair or not 3 <= vertices[0] <= vertices[1] <= MAX_VERTICES:
            expected = f"two whole numbers from 3 to {MAX_VERTICES}, ascending"
            raise BadInput(f"vertices is {vertices!r}; it must be {expected}")
        orders = self.spline_orders
        if not isinstance(orders, tuple | list) or not orders or not set(orders) <= set(ORDERS):
            raise BadInput(f"spline_orders is {orders!r}; give (1,), (3,) or (1, 3)")
        for name in ("radial_noise", "angular_noise", "similarity", "difficulty"):
            check_range(name, getattr(self, name), 0, 1)
        if not is_integer(self.group_size):
            raise BadInput(f"group_size is {self.group_size!r}; it must be a whole number of shapes")
        check_range("group_size", self.group_size, 1, MAX_INDEX)

    def outline(self, index: int) -> Outlines:
        """One shape."""
        return self.outlines([index])

    def outlines(self, indices: npt.ArrayLike) -> Outlines:
        """The shapes with these indices, 0 to 2**63 - 1."""
        checked = _check_indices(indices)
        cubics = np.empty((len(checked), self.vertices[1], 2, 4))
        n_vertices = np.empty(len(checked), np.int64)
        work = new_workspace(self.vertices[1])
        _generate(self._parameters, checked.view(np.uint64), cubics, n_vertices, work)
        return Outlines(cubics, n_vertices)

    @cached_property
    def _parameters(self) -> Parameters:
        noise_factor = 1.0 - (1.0 - MIN_NOISE) * self.difficulty
        inherited = MAX_INHERITED * self.similarity
        return Parameters(
            seed=np.uint64(self.seed),
            min_vertices=int(self.vertices[0]),
            max_vertices=int(self.vertices[1]),
            orders=np.array(self.spline_orders, np.int64),
            radial=float(self.radial_noise * noise_factor),
            angular=float(self.angular_noise * noise_factor),
            group_size=np.uint64(self.group_size),
            similarity=float(self.similarity),
            inherited=float(inherited),
            own=float(np.sqrt(1.0 - inherited**2)),
        )


def _check_indices(indices: npt.ArrayLike) -> IntArray:
    array = np.asarray(indices)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise BadInput(f"shape indices are {indices!r}; give a flat list of whole numbers")
    if int(array.min()) < 0 or int(array.max()) > MAX_INDEX:
        raise BadInput(f"shape indices run from {array.min()} to {array.max()}; they must be 0 to 2**63 - 1")
    return np.ascontiguousarray(array, dtype=np.int64)


@compiled_in_place
def _generate(
    family: Parameters,
    indices: npt.NDArray[np.uint64],
    cubics: FloatArray,
    n_vertices: IntArray,
    work: Workspace,
) -> None:
    """Fill cubics (n, max_vertices, 2, 4) and n_vertices with the outlines of these indices."""
    first_level = 1 if family.similarity > 0.0 else 0
    for k in range(len(indices)):
        n, order = ZERO, ZERO
        for level in range(first_level, -1, -1):  # the prototype, then the shape
            index = indices[k] // family.group_size if level > 0 else indices[k]
            n, order = _generate_one(family, index, level * PROTOTYPE_PURPOSE, n, order, work, cubics[k])
        n_vertices[k] = n


@compiled_in_place
def _generate_one(
    family: Parameters,
    index: Word,
    first_purpose: int,
    prototype_n: int,
    prototype_order: int,
    work: Workspace,
    cubics: FloatArray,
) -> tuple[int, int]:
    """Sample until an outline is accepted; returns its number of vertices and its order."""
    for j in range(family.max_vertices):
        work.prototype_noise[j, 0], work.prototype_noise[j, 1] = work.noise[j, 0], work.noise[j, 1]
    n, order = 0, 0
    for attempt in range(MAX_ATTEMPTS + 2):
        purpose = first_purpose + attempt
        n, order = _sample_structure(family, index, purpose, prototype_n, prototype_order)
        # A shape may have more vertices than its prototype, which therefore needs noise for all of them.
        n_noisy = n if first_purpose == 0 else family.max_vertices
        _sample_noise(family, index, purpose, n_noisy, prototype_n > 0, work)
        if attempt >= MAX_ATTEMPTS:
            order = 1
        if _build(family, n, order, attempt > MAX_ATTEMPTS, work, cubics):
            break
    return n, order


@compiled_in_place
def _sample_structure(
    family: Parameters, index: Word, purpose: int, prototype_n: int, prototype_order: int
) -> tuple[int, int]:
    """Number of vertices and spline order: those of the prototype with probability `similarity`."""
    w0, w1, w2, _ = words(family.seed, index, 0, purpose)
    if prototype_n > 0 and (float(w2) + 0.5) * 2.0**-32 < family.similarity:
        return prototype_n, prototype_order
    n = family.min_vertices + int((w0 * Word(family.max_vertices - family.min_vertices + 1)) >> Word(32))
    return n, family.orders[int((w1 * Word(len(family.orders))) >> Word(32))]


@compiled_in_place
def _sample_noise(
    family: Parameters, index: Word, purpose: int, n: int, has_prototype: bool, work: Workspace
) -> None:
    """Standard normal noise of n vertices, combined with that of the prototype if there is one."""
    for j in range(n):
        radial, angular = normal_pair(family.seed, index, 1 + j, purpose)
        if has_prototype:
            radial = family.inherited * work.prototype_noise[j, 0] + family.own * radial
            angular = family.inherited * work.prototype_noise[j, 1] + family.own * angular
        work.noise[j, 0], work.noise[j, 1] = radial, angular


@compiled_in_place
def _build(
    family: Parameters, n: int, order: int, regular: bool, work: Workspace, cubics: FloatArray
) -> bool:
    """Compute the outline from the noise; returns whether it is accepted."""
    _place_vertices(family, n, 0.0 if regular else 1.0, work)
    if interpolate(work.vertices, n, order, work.chords, work.solver, cubics) < MIN_CHORD:
        return False
    x, y = principal_axis(cubics, n, work.chords)
    rotate(cubics, n, -y, -x)  # the principal axis points up, as in the original implementation
    area = normalize(cubics, n)
    return area >= MIN_AREA and is_simple(cubics, n, order, work.points)


@compiled_in_place
def _place_vertices(family: Parameters, n: int, strength: float, work: Workspace) -> None:
    """Vertices of a regular polygon, displaced by the noise; rounding hides the last bits of sin and cos."""
    sector = math.pi / n - SECTOR_MARGIN
    for j in range(n):
        radius = min(max(1.0 + strength * family.radial * work.noise[j, 0], MIN_RADIUS), MAX_RADIUS)
        shift = min(max(strength * family.angular * sector * work.noise[j, 1], -sector), sector)
        angle = 2.0 * math.pi * j / n + shift
        work.vertices[j, 0] = math.floor(radius * math.cos(angle) * GRID + 0.5) / GRID
        work.vertices[j, 1] = math.floor(radius * math.sin(angle) * GRID + 0.5) / GRID
