"""The GPUs of this machine, and their assignment to the processes of a sweep."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence

from everlearn.errors import BadInput

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable with the GPUs that CUDA shows to a process."""


def available_gpus() -> list[str]:
    """The GPUs that CUDA may use: those in CUDA_VISIBLE_DEVICES, or all that nvidia-smi lists.

    Torch is not imported, since it would reserve memory on the GPUs.
    """
    if VISIBLE in os.environ:
        return [name.strip() for name in os.environ[VISIBLE].split(",") if name.strip()]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    listed = subprocess.run([program, "-L"], capture_output=True, text=True, check=False)  # noqa: S603
    n_gpus = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
    return [str(number) for number in range(n_gpus)]


class GPUs:
    """Assigns GPUs to processes, least used first.

    Args:
        names: the GPUs, as in CUDA_VISIBLE_DEVICES.
        share: how many of them, or which fraction of one, each process gets.

    Example:
        >>> gpus = GPUs(["0", "1"], share=0.5)
        >>> gpus.slots, gpus.choose([]), gpus.choose(["0"]), gpus.choose(["0", "1", "0", "1"])
        (4, '0', '1', None)
        >>> GPUs(["0", "1", "2"], share=2).choose(["0"])
        '1,2'
    """

    def __init__(self, names: Sequence[str], share: float) -> None:
        if share > 1 and share != int(share):
            raise BadInput(f"gpus is {share:g}; use a whole number, or a fraction of one GPU such as 0.5")
        if share > len(names):
            raise BadInput(
                f"gpus is {share:g}, but this machine has {len(names)} GPUs; use fewer, or a cluster"
            )
        self._names, self._n_each = names, max(1, int(share))
        self._max_users = int(1 / share + 1e-9) if share < 1 else 1

    @property
    def slots(self) -> int:
        """Processes that fit at a time."""
        return len(self._names) * self._max_users // self._n_each

    def choose(self, in_use: Sequence[str]) -> str | None:
        """The GPUs of one more process, given the GPUs of each running one; None if too few are free."""
        n_users = Counter(name for names in in_use for name in names.split(","))
        free = [name for name in self._names if n_users[name] < self._max_users]
        chosen = sorted(free, key=lambda name: n_users[name])[: self._n_each]
        return ",".join(chosen) if len(chosen) == self._n_each else None
