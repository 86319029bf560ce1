"""Where the images of a stream come from, whatever their order of arrival."""

from typing import Protocol, runtime_checkable

from everlearn.chance import IntArray
from everlearn.factors import Factors
from everlearn.streams.batch import Images
from everlearn.streams.task import Split


class Source(Protocol):
    """A collection of classes, each with numbered pictures; every method is pure and O(1) in the class.

    A scenario decides which (class, picture) pairs make up a task; the source only draws them.
    """

    @property
    def n_classes(self) -> int | None:
        """How many classes there are; None means endless."""

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(H, W) or (H, W, 3)."""

    def class_name(self, class_id: int) -> str:
        """A word for people: 'shape 17', 'sandal', 'Greek/character03'."""

    def pool(self, class_id: int, split: Split) -> IntArray:
        """The numbers of the pictures of a class that belong to a split, in a fixed seeded order.

        The pools of one class are disjoint.
        """

    def draw(self, class_ids: IntArray, picture_ids: IntArray) -> tuple[Images, Factors | None]:
        """The pictures themselves, row by row, with their ground truth where it is known."""

    def exemplars(self, class_ids: IntArray) -> Images | None:
        """One canonical picture per class, or None if this source has no such thing."""


@runtime_checkable
class Filmed(Protocol):
    """A source whose training pictures were taken in sessions, as many for every class."""

    def sessions(self, class_id: int) -> list[IntArray]:
        """The numbers of the pictures of each session."""
