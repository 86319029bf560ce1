"""Asked to stop: the first time it is noted, the second time it is as if nobody listened."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

PATIENCE = 4.0
"""Seconds that a step may still take after a request, so that five are enough for everything."""
AGAIN = 0.1


class StepGivenUp(BaseException):
    """A step was not over when patience ended; not an `Exception`, so that no learner can swallow it.

    Attributes:
        received: what asked to stop.
    """

    def __init__(self, received: signal.Signals) -> None:
        super().__init__(received.name)
        self.received = received


class StopRequests:
    """Notes SIGINT and SIGTERM while it is open; the second one ends the process at once.

    When a request was noted and `PATIENCE` is over, whatever is being done ends with `StepGivenUp`, except
    while somebody else is at work (`aside`).
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._is_aside = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._before = {number: signal.signal(number, self._note) for number in self.SIGNALS}
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._give_up)
        except ValueError:
            self._before = {}  # not the main thread: whoever runs the main thread hears the signals
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.be_patient()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def be_patient(self) -> None:
        """Let what comes now take its time, such as the save that was asked for."""
        if self.received is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While others are at work, whose doings are not ours to end."""
        self._is_aside = True
        yield
        self._is_aside = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        for each in self.SIGNALS:  # from now on the system itself answers, even in the middle of a long sum
            signal.signal(each, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE, AGAIN)

    def _give_up(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and not self._is_aside:
            self.be_patient()
            raise StepGivenUp(self.received)


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Wish:
    """Notes the first SIGINT or SIGTERM while it is open.

    Attributes:
        received: what asked to stop, if anything did.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        except ValueError:
            self._before = {}  # not the main thread: whoever runs the main thread hears the signals
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
