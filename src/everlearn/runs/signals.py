"""Asked to stop: finish the step, save, go. Asked twice: go."""

import signal
from types import FrameType, TracebackType
from typing import Any, Self


class StopRequests:
    """Notes SIGINT and SIGTERM while it is open; the second one ends the process at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        try:
            self._before = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        except ValueError:
            self._before = {}  # not the main thread: whoever runs the main thread hears the signals
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        for each in self.SIGNALS:  # from now on the system itself answers, even in the middle of a long sum
            signal.signal(each, signal.SIG_DFL)
