"""An endless family of shapes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from everlearn.chance import check_seed
from everlearn.errors import BadInput, check_range
from everlearn.shapes.growing import Recipe, grow
from everlearn.shapes.outlines import Outlines

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
