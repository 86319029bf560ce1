"""One task of a stream, and the part of it a learner may see."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from everlearn.streams.batch import Batch

Split = Literal["train", "val", "test", "held_out"]
SPLITS: tuple[Split, ...] = ("train", "val", "test", "held_out")


@dataclass(frozen=True)
class Task:
    """What arrives together: some classes, images to learn from, images to be tested on.

    Images are made when a split is first asked for, and kept; a task that is only counted costs nothing.

    Attributes:
        index: the place in the stream, from 0.
        labels: the labels that occur in it, sorted.
        exemplars: one picture in canonical form per label that has one, in the order of `labels`.
        ordered: the order of the training images is part of the stream (a drift), so do not shuffle it.
        name: a word for people, such as "moving-mnist"; may be empty.
    """

    index: int
    labels: tuple[int, ...]
    draw: Callable[[Split], Batch] = field(repr=False, compare=False)
    draw_exemplars: Callable[[], Batch] = field(repr=False, compare=False)
    ordered: bool = False
    name: str = ""

    @cached_property
    def train(self) -> Batch:
        """Images to learn from."""
        return self.draw("train")

    @cached_property
    def val(self) -> Batch:
        """Images to choose settings with."""
        return self.draw("val")

    @cached_property
    def test(self) -> Batch:
        """Images to be judged by; never shown to a learner together with their labels."""
        return self.draw("test")

    @cached_property
    def held_out(self) -> Batch:
        """Images in factor combinations that no training image of the stream has; often empty."""
        return self.draw("held_out")

    @cached_property
    def exemplars(self) -> Batch:
        """One picture of each class in its canonical form."""
        return self.draw_exemplars()

    def split(self, name: Split) -> Batch:
        """A split by its name."""
        batch: Batch = getattr(self, name)
        return batch

    def for_learner(self) -> "TaskView":
        """The task without what a learner must not see."""
        return TaskView(self)


class TaskView:
    """A task as a learner sees it: no test images, no held-out images."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.index, self.labels, self.name = task.index, task.labels, task.name
        self.ordered = task.ordered

    @property
    def train(self) -> Batch:
        """Images to learn from."""
        return self._task.train

    @property
    def val(self) -> Batch:
        """Images to choose settings with."""
        return self._task.val

    @property
    def exemplars(self) -> Batch:
        """One picture of each class in its canonical form."""
        return self._task.exemplars
