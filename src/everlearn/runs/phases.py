"""Time of the phases of a run."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

RENDER, TRAIN, EVALUATE, SAVE = PHASES = ("render", "train", "evaluate", "save")
"""Generating images; training steps; predictions and probes; checkpoints. All other time is "other"."""
CPU = "cpu"
"""CPU time of all phases."""


class PhaseClock:
    """Adds up the seconds of phases; time in a nested phase counts for that phase only.

    Example:
        >>> clock = PhaseClock(clock=iter([0.0, 1.0, 4.0, 9.0]).__next__)
        >>> with clock(TRAIN), clock(SAVE):
        ...     pass
        >>> clock.seconds["train"], clock.seconds["save"]
        (6.0, 3.0)
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._clock, self._open = clock or time.monotonic, list[list[float]]()
        self._cpu_start = time.process_time()

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Context whose time belongs to a phase."""
        inner = [0.0]  # seconds of phases within this one
        self._open.append(inner)
        start = self._clock()
        try:
            yield
        finally:
            elapsed = self._clock() - start
            self.seconds[phase] += elapsed - inner[0]
            self._open.pop()
            if self._open:
                self._open[-1][0] += elapsed

    def take(self) -> dict[str, float]:
        """The seconds since the last call."""
        taken = {phase: round(seconds, 4) for phase, seconds in self.seconds.items()}
        self.seconds = dict.fromkeys(PHASES, 0.0)
        return taken

    def take_cpu(self) -> float:
        """CPU seconds of all threads since the last call, which other programs hardly affect."""
        before, self._cpu_start = self._cpu_start, time.process_time()
        return round(self._cpu_start - before, 4)

    def state(self) -> dict[str, float]:
        """The seconds of an unfinished task."""
        return {**self.seconds, CPU: time.process_time() - self._cpu_start}

    def load(self, seconds: Mapping[str, float]) -> None:
        """Continue from the seconds of an interrupted task."""
        self.seconds = {phase: float(seconds.get(phase, 0.0)) for phase in PHASES}
        self._cpu_start = time.process_time() - float(seconds.get(CPU, 0.0))
