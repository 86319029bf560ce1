"""A warm process that forks one child per job: imports are paid once, and every child can be killed.

Commands are JSON lines: {"start": job} answers with a process number, {"wait": pid} with how it ended.
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
from tests.crash import troubles
from tests.crash.harness import tiny


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


def wait(pid: int) -> dict[str, Any]:
    _, status, used = os.wait4(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), "cpu": used.ru_utime + used.ru_stime}


def child(job: dict[str, Any]) -> None:
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            answer = export(job) if "export" in job else play(job)
        answer |= {"warnings": [str(each.message) for each in told]}
    except BadInput as error:
        answer = {"refused": str(error)}
    except runs.Stopped as stop:
        answer = {"stopped": stop.signal.name, "said": str(stop)}
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        answer = {"broke": traceback.format_exc()}
    answer |= {
        name: getattr(files.disk, name)
        for name in ("n_acts", "writes", "moments")
        if hasattr(files.disk, name)
    }
    Path(job["answer"]).write_text(json.dumps(answer | troubles.marks))
    os._exit(0)


def play(job: dict[str, Any]) -> dict[str, Any]:
    troubles.prepare(job)
    folder = Path(job["folder"])
    if (folder / "spec.json").exists():
        story = runs.resume(folder)
    else:
        story = runs.record(runs.RunSpec.from_json(job["spec"]), folder)
    for event in story:
        troubles.happens(job, event)
    return {"digest": runs.Record(folder).digest, "exact": runs.Record(folder).is_exact}


def export(job: dict[str, Any]) -> dict[str, Any]:
    """Write the first tasks of a run's stream into a folder."""
    troubles.prepare(job)
    stream = runs.RunSpec.from_json(job["spec"]).stream.build()
    manifest = streams.export(stream, job["folder"], to=job["export"], tasks=range(2))
    return {"fingerprint": manifest.fingerprint}


if __name__ == "__main__":
    main()
