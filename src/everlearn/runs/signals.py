"""Stop signals: finish the current step, then stop."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
REPEAT = 0.1
"""Seconds until a timeout in a paused context is raised again."""


class StepTimeout(BaseException):
    """A step took too long after a stop signal; no `Exception`, so that a learner cannot catch it."""

    def __init__(self, received: signal.Signals) -> None:
        super().__init__(received.name)
        self.received = received


class StopSignal:
    """Context that stores the first SIGINT or SIGTERM instead of acting on it.

    Without a timeout, a second signal has its previous effect. With a timeout, a second signal terminates
    the process immediately, and a step that takes longer than the timeout is interrupted by `StepTimeout`.
    Outside the main thread, where Python cannot handle signals, nothing is received. Windows has no timer, so
    a step is never interrupted there.

    Args:
        step_timeout: seconds that a step may take after the signal.

    Attributes:
        received: the signal, if any.
    """

    def __init__(self, step_timeout: float | None = None) -> None:
        self.received: signal.Signals | None = None
        self._timeout = step_timeout
        self._is_paused = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._previous = {number: signal.signal(number, self._receive) for number in SIGNALS}
            if self._timeout is not None and sys.platform != "win32":
                self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._interrupt)
        except ValueError:
            self._previous = {}
        return self

    def __exit__(self, *error: object) -> None:
        self.cancel_timeout()
        self._restore()

    def cancel_timeout(self) -> None:
        """Let the following steps take any time, such as saving a checkpoint."""
        if self.received is not None and self._timeout is not None and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context for code of others, which must not be interrupted."""
        self._is_paused = True
        yield
        self._is_paused = False

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        if self._timeout is None:
            self._restore()
            return
        for each in SIGNALS:  # a second signal ends the process, even within a long C function
            signal.signal(each, signal.SIG_DFL)
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, self._timeout, REPEAT)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and not self._is_paused:
            self.cancel_timeout()
            raise StepTimeout(self.received)

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
