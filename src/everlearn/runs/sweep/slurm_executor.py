"""An executor on a Slurm cluster, through submitit."""

import math
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from everlearn import files
from everlearn.errors import BadInput, import_optional
from everlearn.runs.child_process import ChildProcess
from everlearn.runs.sweep.executors import Capacity, Executor, ExecutorFactory, ProcessHandle

FOLDER = ".submitit"
"""Subfolder of the records for logs and stop files of jobs."""
DEFAULT_WORKERS = 64
"""Jobs that are queued or running at a time."""
POLL_INTERVAL = 0.5
"""Seconds between two checks of the stop file."""
GIGABYTE = 1_000_000_000
LOST = "its job was lost, cancelled or exceeded its time limit"

Cluster = Literal["slurm", "local"]


def on_slurm(options: Mapping[str, Any] | None = None, *, cluster: Cluster = "slurm") -> ExecutorFactory:
    """An executor that submits a Slurm job for each command; "local" runs the jobs on this machine.

    Args:
        options: options of sbatch without dashes, such as {"partition": "gpu", "time": 720}.
        cluster: where jobs run.
    """
    submitit = import_optional("submitit", "pip install 'everlearn[slurm]'")
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise BadInput("there is no sbatch on this machine; run this command on a login node of the cluster")

    @contextmanager
    def executor(capacity: Capacity, folders: Sequence[Path]) -> Iterator[Executor]:
        folder = folders[0].resolve() / FOLDER
        files.make_folder(folder)
        submit = submitit.AutoExecutor(folder=folder, cluster=cluster)
        submit.update_parameters(**parameters(capacity, options or {}))
        slurm = SlurmExecutor(submit, folder, capacity)
        try:
            yield slurm
        finally:
            slurm.close()

    return executor


def parameters(capacity: Capacity, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of submitit for a capacity and options of sbatch.

    Example:
        >>> parameters(Capacity(threads=2, gpus=1), {"partition": "gpu"})
        {'cpus_per_task': 2, 'mem_gb': 1, 'gpus_per_node': 1, 'slurm_partition': 'gpu'}
    """
    gpus = {"gpus_per_node": math.ceil(capacity.gpus)} if capacity.gpus else {}
    memory = max(1, math.ceil(capacity.memory / GIGABYTE))
    own = {f"slurm_{name}": value for name, value in options.items()}
    return {"cpus_per_task": capacity.threads, "mem_gb": memory, **gpus, **own}


class SlurmExecutor(Executor):
    """Submits a job for each command."""

    def __init__(self, submit: Any, folder: Path, capacity: Capacity) -> None:
        self._submit, self._folder, self._capacity = submit, folder, capacity
        self._handles: list[SlurmHandle] = []

    @property
    def workers(self) -> int:
        return self._capacity.workers or DEFAULT_WORKERS

    def has_capacity(self) -> bool:
        self._handles = [each for each in self._handles if each.is_alive]
        return len(self._handles) < self.workers

    def start(self, command: Sequence[str]) -> "SlurmHandle":
        stop_file = self._folder / f"stop-{secrets.token_hex(8)}"
        here, threads = str(Path.cwd()), self._capacity.threads
        job = self._submit.submit(run_command, tuple(command), threads, here, str(stop_file))
        handle = SlurmHandle(job, stop_file)
        self._handles.append(handle)
        return handle

    def close(self) -> None:
        """Cancel all jobs that have not ended."""
        for handle in self._handles:
            handle.close()


class SlurmHandle(ProcessHandle):
    """Handle of a job that is queued or running, or has ended."""

    def __init__(self, job: Any, stop_file: Path) -> None:
        self._job, self._stop_file = job, stop_file

    @property
    def is_alive(self) -> bool:
        return not self._job.done()

    @property
    def exit_code(self) -> int | None:
        return self._result()[0]

    def terminate(self) -> None:
        # A file instead of a signal: Slurm would pass a signal to all processes of the job at once.
        files.write(self._stop_file, b"")
        if self._job.state in ("PENDING", "CONFIGURING"):
            self.close()

    def close(self) -> None:
        if self.is_alive:
            self._job.cancel(check=False)
        self._stop_file.unlink(missing_ok=True)

    def error(self) -> str:
        return self._result()[1]

    def _result(self) -> tuple[int | None, str]:
        try:
            code, error = self._job.result()
        except Exception:  # submitit raises several errors for a job without a result
            return None, LOST
        return code, error


def run_command(command: Sequence[str], threads: int, folder: str, stop_file: str) -> tuple[int | None, str]:
    """In a job: run an everlearn command until it ends or its stop file exists; its exit code and error."""
    with closing(ChildProcess(command, threads=threads, folder=Path(folder))) as child:
        while (code := child.wait(POLL_INTERVAL)) is None:
            if Path(stop_file).exists():
                child.terminate()
        return code, child.error() if code else ""
