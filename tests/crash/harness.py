"""Runs in processes that are killed or disturbed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from everlearn.learners import settings_class
from everlearn.runs import RunSpec

IS_RANDOM = os.environ.get("HYPOTHESIS_PROFILE") == "random"
SEED = int(os.environ.get("CRASH_SEED", "0")) or (
    random.SystemRandom().randrange(1, 10**6) if IS_RANDOM else 1
)
"""Seed of crash points; fixed, except in `make slow`."""

FEW = ("nearest", "er", "dcl", "vase")
"""Learners with different states; `make slow` kills and resumes every learner."""
TINY = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "n_tasks": 2,
    "batch_size": 16,
    "evaluation.n_images": 8,
}

Ended = dict[str, Any]
"""How a process ended: exit code, CPU seconds, and its result or error."""


def tiny(learner: str, **settings: Any) -> RunSpec:
    """A run of about a second."""
    small = {"learner.backbone": "small"} if "backbone" in settings_class(learner).model_fields else {}
    return RunSpec.make(learner=learner, settings={**TINY, **small, **settings})


class Server:
    """Client of the process in fork_server.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._references: dict[str, Ended] = {}

    def start(self, folder: Path, spec: RunSpec, **job: Any) -> int:
        """Start or resume a run with faults; returns the process id."""
        job = {"result": str(folder.with_suffix(".result")), **job}
        Path(job["result"]).unlink(missing_ok=True)
        job |= {"folder": str(folder), "spec": spec.to_json()}
        return int(self._request({"start": job}))

    def wait(self, folder: Path, pid: int) -> Ended:
        """Wait for the end of a run."""
        ended, result = self._request({"wait": pid}), folder.with_suffix(".result")
        data = json.loads(result.read_text()) if ended["code"] == 0 else {}
        assert "traceback" not in data, data["traceback"]
        return {**ended, **data}

    def run(self, folder: Path, spec: RunSpec, **job: Any) -> Ended:
        return self.wait(folder, self.start(folder, spec, **job))

    def reference(self, tmp_path: Path, spec: RunSpec, **job: Any) -> Ended:
        """The same run without faults: digest, number of operations, seconds."""
        key = spec.hash + json.dumps(job)
        if key not in self._references:
            started = time.monotonic()
            ended = self.run(tmp_path / f"uninterrupted-{spec.hash[:12]}", spec, **job)
            self._references[key] = {**ended, "seconds": time.monotonic() - started}
        return self._references[key]

    def kill(self, pid: int, after: float) -> None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self._process.communicate()

    def _request(self, command: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
