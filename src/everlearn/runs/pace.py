"""How often to save: seldom enough to be cheap, often enough to lose little."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Pace:
    """Says when a run ought to be saved.

    After a task it ought to, if all saving so far, this once, and once more at the very end stay within a
    share of the run's time; short tasks share a checkpoint because of it. Once an interval has passed, after
    a task or inside one, it ought to be saved whatever that costs.

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
        if now - self._saved_at >= self._interval:
            return True
        return after_task and self._spent + 2 * self._last <= self._share * (now - self._began)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Learn from how long a save takes; one that fails teaches nothing."""
        started = self._clock()
        yield
        self._saved_at = self._clock()
        self._last = self._saved_at - started
        self._spent += self._last
