"""Starting and stopping runs in separate processes, which continue when the server ends."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs import Record, RunSpec, folder_name
from everlearn.runs.child_process import ChildProcess
from everlearn.runs.run_record import has_record
from everlearn.studio.security import Conflict

START_TIMEOUT = 60.0
"""Seconds to wait for a run to start; importing torch on a busy machine takes long."""
POLL_INTERVAL = 0.05


def start(root: Path, *, stream: str, learner: str, settings: Mapping[str, Any], name: str | None) -> str:
    """Start a run and return the name of its record in `root`; raises an error if the spec is invalid."""
    spec = RunSpec.make(stream=stream, learner=learner, settings=settings)
    record = folder_name(name or spec.title, spec.hash)
    folder = root / record
    if has_record(folder):
        raise Conflict(f"the record {record} has exactly these settings already; change the seed")
    command = ["run", "--stream", stream, "--learner", learner, "--record", str(folder)]
    for key, value in settings.items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    _spawn([*command, *(["--name", name] if name else [])], lambda _: has_record(folder))
    return record


def resume(record: Record) -> None:
    """Resume an interrupted run."""
    if record.is_finished:
        raise Conflict("this run is finished")
    folder = record.folder
    if lock_holder(folder) is not None:
        raise Conflict("this run is already running")
    _spawn(["resume", str(folder)], lambda pid: record.is_finished or lock_holder(folder) == pid)


def stop(record: Record) -> None:
    """Request that a run saves a checkpoint and ends, which takes seconds."""
    pid = lock_holder(record.folder)
    if pid is None:
        raise Conflict("this run is not running")
    os.kill(pid, signal.SIGTERM)


def _spawn(command: Sequence[str], has_started: Callable[[int], bool]) -> None:
    """Start an everlearn command and wait until it has started; if it fails, raise its error."""
    child = ChildProcess(command, detached=True)
    threading.Thread(target=child.wait, daemon=True).start()  # otherwise it would remain as a zombie
    try:
        end = time.monotonic() + START_TIMEOUT
        while time.monotonic() < end and not has_started(child.pid):
            if child.exit_code:
                raise BadInput(child.error())
            time.sleep(POLL_INTERVAL)
    finally:
        child.release()
