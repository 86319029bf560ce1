"""Groups of images that a memory did not recognise; images of the same object form a group."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from everlearn.errors import BadInput
from everlearn.memory.on_disk.metadata import METADATA
from everlearn.recognition.calibration import KNOWN
from everlearn.streams.images.canonical import ImageLike
from everlearn.streams.images.decode import Pixels

if TYPE_CHECKING:
    from everlearn.recognition.answer import Answer
    from everlearn.recognition.recogniser import Recogniser

FOLDER = "unknown"
"""Folder of the groups inside that of the memory."""
COUNT = "groups"
"""Setting with the largest number of a group so far, so that no number is used twice."""


@dataclass(frozen=True)
class UnknownGroup:
    """Images of one unknown object.

    Example:
        >>> str(UnknownGroup(number=3, n_images=2, first_seen="2026-11-18T09:30:00+00:00"))
        'unknown 3, seen 2 times'

    Attributes:
        number: of the group, from 1 up.
        n_images: how often the object was seen.
        first_seen: when its first image was stored, in UTC.
    """

    number: int
    n_images: int
    first_seen: str

    def __str__(self) -> str:
        return f"unknown {self.number}, seen {self.n_images} time{'' if self.n_images == 1 else 's'}"


class Unknowns:
    """Groups of unknown images inside the folder of a memory.

    They form a memory of their own with a class for each group, so edits are crash-safe as well. An image
    that is recognised as one of a group is added to it; any other starts a group.

    Args:
        owner: the memory whose unknown images are kept.
    """

    def __init__(self, owner: "Recogniser") -> None:
        self._owner = owner
        self._folder = owner.folder / FOLDER

    def groups(self) -> list[UnknownGroup]:
        """All groups, by number; creates no files."""
        if not (self._folder / METADATA).is_file():
            return []
        return sorted(map(self._group, self._store.names), key=lambda group: group.number)

    def keep(self, image: ImageLike, answer: "Answer") -> UnknownGroup:
        """Add an image, with the owner's answer, to the group of the same object or to a new one."""
        found = self._store.ask([image])[0]
        name = found.best if found.best and self._is_same(found, answer) else self._new_name()
        self._store.teach(image, name)
        group = self._group(name)
        if group.number > self._count():
            self._store.settings = {**self._store.settings, COUNT: group.number}
        return group

    def move(self, number: int, name: str) -> int:
        """Teach the owner all images of a group under a name, then erase the group; returns how many.

        Images that an interrupted call has taught are not taught again.
        """
        group = self._name_of(number)
        known = list(self._owner.exemplars(name)) if name in self._owner else []
        images = self._store.images_of(group)
        self._owner.adopt([each for each in images if not _contains(known, each[0])], name)
        self._store.forget(group)
        return len(images)

    def discard(self, number: int) -> int:
        """Erase a group; returns how many images it had."""
        group = self._name_of(number)
        n = self._store.n_images(group)
        self._store.forget(group)
        return n

    def close(self) -> None:
        """Close the files and release the lock."""
        if "_store" in vars(self):
            self._store.close()

    @cached_property
    def _store(self) -> "Recogniser":
        """The memory of the groups: created if missing, and open until the owner is closed."""
        owner = self._owner
        return type(owner).open(
            self._folder, features=owner.features.name, weights=owner.weights, upright=owner.upright
        )

    def _is_same(self, found: "Answer", answer: "Answer") -> bool:
        """Whether an image shows the object of the group that was found.

        The classes of the owner are runners-up as well, since few groups alone give no margin. The threshold
        is high, since two groups of one object do less harm than a group of two objects.
        """
        similarity, margin, *rest = found.scores
        margins = [self._total(found) - self._total(answer)] if answer.best else []
        margins += [margin] if found.runner_up else []
        scores = np.array([[similarity, min(margins, default=0.0), *rest]])
        return bool(self._owner.calibration.confidence(scores)[0] >= KNOWN)

    def _total(self, answer: "Answer") -> float:
        return answer.scores[0] + self._owner.features.alignment_weight * answer.scores[2]

    def _group(self, name: str) -> UnknownGroup:
        number, first_seen = name.split()
        return UnknownGroup(int(number), self._store.n_images(name), first_seen)

    def _new_name(self) -> str:
        """A name that consists of number and time, so that both are stored and erased with the images."""
        number = max([self._count(), *(group.number for group in self.groups())]) + 1
        return f"{number} {datetime.now(UTC).isoformat(timespec='seconds')}"

    def _count(self) -> int:
        return int(self._store.settings.get(COUNT, 0))

    def _name_of(self, number: int) -> str:
        groups = self.groups()
        for group in groups:
            if group.number == number:
                return f"{group.number} {group.first_seen}"
        known = ", ".join(str(group.number) for group in groups)
        raise BadInput(
            f"there is no unknown group {number}; "
            + (
                f"the groups are {known}"
                if known
                else "none are kept; keep some with `everlearn ask --keep-unknown`"
            )
        )


def _contains(exemplars: list[Pixels], pixels: Pixels) -> bool:
    return any(np.array_equal(pixels, each) for each in exemplars)
