"""A warm process that forks one child per run: imports are paid once, and every child can be killed.

Commands are JSON lines: {"start": job} answers with a process number, {"wait": pid} with how it ended.
"""

import json
import os
import signal
import sys
import time
import traceback
import warnings
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from everlearn import files, runs
from everlearn.errors import BadInput
from everlearn.runs import checkpoint, loop, recording, scoring
from everlearn.streams import arranged
from tests.crash.disks import CrashingDisk, FullDisk, WatchedDisk
from tests.crash.harness import tiny
from tests.crash.power import RememberingDisk

PHASES = {
    "learning": (loop.Play, "_checked"),
    "scoring": (scoring, "answer"),
    "making a task": (arranged.ArrangedStream, "_split"),
    "saving": (checkpoint.Checkpoints, "save"),
}


def main() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        command = json.loads(line)
        answer = start(command["start"]) if "start" in command else wait(command["wait"])
        print(json.dumps(answer), flush=True)


@cache
def warm_up(learner: str) -> None:
    """Load and compile here, once, what every child needs."""
    for _ in runs.play(tiny(learner, n_tasks=1)):
        pass


def start(job: dict[str, Any]) -> int:
    warm_up(json.loads(job["spec"])["learner"]["name"])
    pid = os.fork()
    if pid == 0:
        child(job)
    return pid


def wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def child(job: dict[str, Any]) -> None:
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        answer = {"digest": play(job)}
    except BadInput as error:
        answer = {"refused": str(error)}
    except runs.Stopped as stop:
        answer = {"stopped": stop.signal.name}
    except BaseException:
        answer = {"broke": traceback.format_exc()}
    answer |= {"acts": getattr(files.disk, "n_acts", 0), "writes": getattr(files.disk, "writes", [])}
    Path(job["answer"]).write_text(json.dumps(answer))
    os._exit(0)


def play(job: dict[str, Any]) -> str:
    warnings.simplefilter("ignore")
    prepare(job)
    folder = Path(job["folder"])
    if (folder / "spec.json").exists():
        story = runs.resume(folder)
    else:
        story = runs.record(runs.RunSpec.from_json(job["spec"]), folder)
    for _ in story:
        pass
    return runs.Record(folder).digest


def prepare(job: dict[str, Any]) -> None:
    """Make the run save often, and go wrong as the job says."""
    recording.INTERVAL, recording.SAVING_SHARE = 0.0, 1e12
    if "save_every" in job:
        saves = count(1)
        recording.Recorder._is_time = lambda self, event: next(saves) % job["save_every"] == 0
    files.disk = WatchedDisk()
    if "crash_at" in job:
        files.disk = CrashingDisk(job["crash_at"], job["mode"])
    if "full_at" in job:
        files.disk = FullDisk(job["full_at"])
    if "remember" in job:
        files.disk = RememberingDisk(Path(job["remember"]), Path(job["folder"]).parent)
    if "signal_in" in job:
        send_signal(job["signal_in"], job["signal"], job["n_signals"])
    if "clock_jumps" in job:
        jumps = count()
        time.time = lambda: (-1.0) ** next(jumps) * 86_400.0 * next(jumps)


def send_signal(phase: str, number: int, n_signals: int) -> None:
    """Send this process a signal in the third call of what happens in a phase."""
    owner, name = PHASES[phase]
    original, calls = getattr(owner, name), count(1)

    def marked(self: Any, *args: Any) -> Any:
        if next(calls) == 3:
            for _ in range(n_signals):
                signal.raise_signal(number)
        return original(self, *args)

    setattr(owner, name, marked)


if __name__ == "__main__":
    main()
