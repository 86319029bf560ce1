"""How often to save: seldom enough to be cheap, often enough to lose little."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Pace:
    """Says when a run ought to be saved.

    After a task it ought to, if both the time since the last save and that of the whole run are long enough
    for another to be no more than a share of them, and one at the very end as well; short tasks share a
    checkpoint because of it. Once an interval has passed, after a task or inside one, it ought to be saved
    whatever that costs.

    Args:
        interval: seconds of work that may be lost at most.
        share: the part of the time that saving may take.
        clock: tells seconds that never run backwards.
    """

    def __init__(self, *, interval: float, share: float, clock: Callable[[], float]) -> None:
        self._interval, self._share, self._clock = interval, share, clock
        self._began = self._saved_at = clock()
        self._spent = self._last = 0.0

    def is_time(self, *, after_task: bool) -> bool:
        """Whether to save now."""
        now = self._clock()
        waited, played = now - self._saved_at, now - self._began
        if waited >= self._interval:
            return True
        is_cheap = self._last <= self._share * waited and self._spent + 2 * self._last <= self._share * played
        return after_task and is_cheap

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Learn from how long a save takes; one that fails teaches nothing."""
        started = self._clock()
        yield
        self._saved_at = self._clock()
        self._last = self._saved_at - started
        self._spent += self._last
