"""The schedule of checkpoints, which limits both the work that may be lost and the cost of saving."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CheckpointSchedule:
    """Decides when to save a checkpoint.

    After a task, a checkpoint is due if another save (and one at the end) keeps the time spent on saving
    below a fraction of the time since the last save and of the whole run, so several short tasks share one.
    Once an interval has passed, after or within a task, a checkpoint is due regardless of its cost.

    Args:
        interval: maximum seconds of work that may be lost.
        max_overhead: fraction of time that saving may take.
        clock: monotonic clock in seconds.
    """

    def __init__(self, *, interval: float, max_overhead: float, clock: Callable[[], float]) -> None:
        self._interval, self._max_overhead, self._clock = interval, max_overhead, clock
        self._started = self._saved_at = clock()
        self._total_cost = self._last_cost = 0.0

    def is_due(self, *, after_task: bool) -> bool:
        """Whether to save now."""
        now = self._clock()
        since_save, since_start = now - self._saved_at, now - self._started
        if since_save >= self._interval:
            return True
        is_cheap = (
            self._last_cost <= self._max_overhead * since_save
            and self._total_cost + 2 * self._last_cost <= self._max_overhead * since_start
        )
        return after_task and is_cheap

    @contextmanager
    def measure_save(self) -> Iterator[None]:
        """Context that measures a save; a save that fails is not counted."""
        started = self._clock()
        yield
        self._saved_at = self._clock()
        self._last_cost = self._saved_at - started
        self._total_cost += self._last_cost
