"""The number of finished tasks in a growing log, of which every line is read once."""

from pathlib import Path

from everlearn.runs.events import TaskEnded
from everlearn.runs.run_files import LAST_BYTES, read_log_reversed


class FinishedTasks:
    r"""Counts the tasks of a run that are trained on and evaluated.

    A task may have many training steps, so the end of the previous task may be far back in the log. The first
    call searches for it; later calls read only new lines.

    Example:
        >>> from tempfile import mkdtemp
        >>> log = Path(mkdtemp(), "events.jsonl")
        >>> _ = log.write_text('{"event": "task-ended", "task": 4}\n')
        >>> FinishedTasks(log).count()
        5
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._n_tasks, self._n_bytes, self._tail = 0, 0, b""

    def count(self) -> int:
        """The number of finished tasks now."""
        if self._read_tail(self._n_bytes) != self._tail:  # rewritten: the run resumed from a checkpoint
            self._n_tasks, self._n_bytes = 0, 0
        n_bytes = self._complete_bytes()  # before events are read: lines that follow are read next time
        events = read_log_reversed(self._log, self._n_bytes)
        ended = (int(event["task"]) + 1 for event in events if event["event"] == TaskEnded.kind)
        self._n_tasks = next(ended, self._n_tasks)
        self._n_bytes, self._tail = n_bytes, self._read_tail(n_bytes)
        return self._n_tasks

    def _read_tail(self, end: int) -> bytes:
        """The last of the first `end` bytes."""
        if not end or not self._log.exists():
            return b""
        with self._log.open("rb") as log:
            log.seek(max(0, end - LAST_BYTES))
            return log.read(min(end, LAST_BYTES))

    def _complete_bytes(self) -> int:
        """The length of the log without an incomplete last line."""
        end = self._log.stat().st_size if self._log.exists() else 0
        while end > self._n_bytes:
            if (found := self._read_tail(end).rfind(b"\n")) >= 0:
                return max(0, end - LAST_BYTES) + found + 1
            end -= LAST_BYTES
        return self._n_bytes
