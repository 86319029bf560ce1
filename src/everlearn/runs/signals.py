"""Asked to stop: finish the step, save, go. Asked twice: go."""

import signal
from types import FrameType, TracebackType
from typing import Any


class StopRequests:
    """Notes SIGINT and SIGTERM while it is open; the second one ends the process at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopRequests":
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
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.received = signal.Signals(number)
