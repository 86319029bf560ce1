"""Learners as they were last saved, kept open for whoever looks at them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everlearn.runs import Play, Record
from everlearn.runs.editing import opened


class Models:
    """The few learners that were looked at last; one that was played on is opened again."""

    KEPT = 2

    def __init__(self) -> None:
        self._plays: dict[Path, tuple[int, Play]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def of(self, record: Record) -> Iterator[Play]:
        """The run of a record at its newest checkpoint, for one visitor at a time."""
        with self._lock:
            newest = max(record.checkpoints.numbers(), default=0)
            number, play = self._plays.pop(record.folder, (0, None))
            if play is None or number != newest:
                play = opened(record)
            self._plays[record.folder] = (newest, play)
            for forgotten in list(self._plays)[: -self.KEPT]:
                del self._plays[forgotten]
            yield play
