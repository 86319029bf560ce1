"""A process that forks a child for each job: imports happen once, and every child can be killed.

Commands are JSON lines: {"start": job} returns a process id, {"wait": pid} how it ended.
"""

import json
import os
import signal
import sys
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from everlearn import files, runs, streams
from everlearn.errors import BadInput
from everlearn.runs.run_record import has_record
from tests.crash import faults
from tests.crash.harness import tiny


def main() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        command = json.loads(line)
        answer = start(command["start"]) if "start" in command else wait(command["wait"])
        print(json.dumps(answer), flush=True)


@cache
def warm_up(learner: str) -> None:
    """Import and compile what every child needs."""
    for _ in runs.run(tiny(learner, n_tasks=1)):
        pass


def start(job: dict[str, Any]) -> int:
    warm_up(json.loads(job["spec"])["learner"]["name"])
    pid = os.fork()
    if pid == 0:
        child(job)
    return pid


def wait(pid: int) -> dict[str, Any]:
    _, status, used = os.wait4(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), "cpu": used.ru_utime + used.ru_stime}


def child(job: dict[str, Any]) -> None:
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = export(job) if "export" in job else run(job)
        result |= {"warnings": [str(each.message) for each in caught]}
    except BadInput as error:
        result = {"error": str(error)}
    except runs.Stopped as stop:
        result = {"stopped": stop.signal.name, "message": str(stop)}
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        result = {"traceback": traceback.format_exc()}
    counts = ("n_operations", "writes", "crash_points")
    result |= {name: getattr(files.disk, name) for name in counts if hasattr(files.disk, name)}
    Path(job["result"]).write_text(json.dumps(result | faults.marks))
    os._exit(0)


def run(job: dict[str, Any]) -> dict[str, Any]:
    faults.inject(job)
    folder = Path(job["folder"])
    if has_record(folder):
        events = runs.resume(folder)
    else:
        events = runs.record(runs.RunSpec.from_json(job["spec"]), folder)
    for event in events:
        faults.on_event(job, event)
    return {"digest": runs.Record(folder).digest, "exact": runs.Record(folder).is_exact}


def export(job: dict[str, Any]) -> dict[str, Any]:
    """Export the first tasks of a run's stream."""
    faults.inject(job)
    stream = runs.RunSpec.from_json(job["spec"]).stream.build()
    manifest = streams.export(stream, job["folder"], to=job["export"], tasks=range(2))
    return {"fingerprint": manifest.fingerprint}


if __name__ == "__main__":
    main()
