"""Runs as processes of their own, which outlive the page and the server that started them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs import Record, RunSpec, folder_name
from everlearn.runs.run_record import SPEC
from everlearn.studio.security import Conflict

PATIENCE = 60.0
"""Seconds in which a run must have begun: a cold start of torch on a busy machine takes a while."""
GLANCE = 0.05
COMPLAINT = "everlearn: "

Words = list[str]


class Starter:
    """Starts, stops and goes on with runs, by the same commands that a person would type.

    Args:
        root: where new records go.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def start(self, *, stream: str, learner: str, settings: Mapping[str, Any], name: str | None) -> str:
        """Begin a run in a new record and give the record's name; what cannot be played is refused first."""
        spec = RunSpec.make(stream=stream, learner=learner, settings=settings)
        record = folder_name(name or f"{learner} {stream} seed {spec.seed}", spec.hash)
        folder = self._root / record
        if (folder / SPEC).exists():
            raise Conflict(f"{record} plays exactly this already; look at it, or change the seed")
        words = ["run", "--stream", stream, "--learner", learner, "--record", str(folder)]
        words += [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
        self._spawn([*words, *(["--name", name] if name else [])], lambda _: (folder / SPEC).exists())
        return record

    def resume(self, record: Record) -> None:
        """Go on with a run that was stopped."""
        if record.is_finished:
            raise Conflict("this run is finished; there is nothing to go on with")
        if lock_holder(record.folder) is not None:
            raise Conflict("this run is playing already")
        self._spawn(
            ["resume", str(record.folder)],
            lambda child: record.is_finished or lock_holder(record.folder) == child,
        )

    @staticmethod
    def stop(record: Record) -> None:
        """Ask a run to save and end; it does so within seconds."""
        process = lock_holder(record.folder)
        if process is None:
            raise Conflict("this run is not playing, so there is nothing to stop")
        os.kill(process, signal.SIGTERM)

    def _spawn(self, words: Words, has_begun: Callable[[int], bool]) -> None:
        """Start everlearn in a session of its own and wait until it has begun, or said why it cannot."""
        with tempfile.TemporaryFile() as said:
            child = _everlearn(words, said)
            # Somebody must take note of its end, or it stays behind as a zombie; nobody need wait for that.
            threading.Thread(target=child.wait, daemon=True).start()
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end and not has_begun(child.pid):
                if child.poll():
                    raise BadInput(_complaint(said))
                time.sleep(GLANCE)


def _everlearn(words: Words, said: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (no shell; what people chose was read as a spec before)
        [sys.executable, "-P", "-m", "everlearn", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        start_new_session=True,
    )


def _complaint(said: IO[bytes]) -> str:
    """The last thing a command said before it ended."""
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines() or ["the run ended at once"]
    return lines[-1].removeprefix(COMPLAINT)
