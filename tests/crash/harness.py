"""Runs in processes of their own that are meant to die."""

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

SEED = int(os.environ.get("CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
"""Where and when to strike; CRASH_SEED=<n> makes the same draw again."""

TINY = {
    "stream.image_size": 16,
    "stream.classes_per_task": 2,
    "stream.factor_values": 2,
    "n_tasks": 2,
    "batch_size": 16,
    "evaluation.probe_size": 8,
}

Ended = dict[str, Any]
"""How a process ended: its exit code, the seconds of processor time it took, and what it said if it could."""


def tiny(learner: str, **settings: Any) -> RunSpec:
    """A run of a second or so; what saves and loads a network does not care how large it is."""
    small = {"learner.backbone": "small"} if "backbone" in settings_class(learner).model_fields else {}
    return RunSpec.make(learner=learner, settings={**TINY, **small, **settings})


class Server:
    """The warm process; see server.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._references: dict[str, Ended] = {}

    def start(self, folder: Path, spec: RunSpec, **job: Any) -> int:
        """Begin or go on with a run; the process number."""
        answer = folder.with_suffix(".answer")
        answer.unlink(missing_ok=True)
        job = {"folder": str(folder), "spec": spec.to_json(), "answer": str(answer), **job}
        return int(self._ask({"start": job}))

    def wait(self, folder: Path, pid: int) -> Ended:
        """How it ended."""
        ended, answer = self._ask({"wait": pid}), folder.with_suffix(".answer")
        said = json.loads(answer.read_text()) if ended["code"] == 0 else {}
        assert "broke" not in said, said["broke"]
        return {**ended, **said}

    def run(self, folder: Path, spec: RunSpec, **job: Any) -> Ended:
        return self.wait(folder, self.start(folder, spec, **job))

    def reference(self, tmp_path: Path, spec: RunSpec, **job: Any) -> Ended:
        """The same run without any trouble: digest, number of acts, seconds."""
        key = spec.hash + json.dumps(job)
        if key not in self._references:
            started = time.monotonic()
            calm = self.run(tmp_path / f"calm-{spec.hash[:12]}", spec, **job)
            self._references[key] = {**calm, "seconds": time.monotonic() - started}
        return self._references[key]

    def kill(self, pid: int, after: float) -> None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, command: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
