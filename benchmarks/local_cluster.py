"""A real Ray cluster of two nodes on this machine, for tests and measurements."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

HEAD, OTHER = "127.0.0.2", "127.0.0.3"
STARTED = "Ray runtime started"
QUICK = {
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
    "RAY_worker_niceness": "0",
}
"""Detects a lost node within seconds; workers have normal priority."""


class LocalCluster:
    """Two nodes with one CPU each on the loopback interface, protected by a token.

    Args:
        hidden: a folder that is empty on the second node.
        python: the Python of its workers.
    """

    def __init__(self, *, hidden: Path | None = None, python: Path = Path(sys.executable)) -> None:
        self._ray = [str(python), "-c", "from ray.scripts.scripts import main; main()"]
        # Socket paths have at most 107 characters, which a folder of pytest would exceed.
        self._folder, self._hidden = Path(tempfile.mkdtemp(prefix="el-", dir="/tmp")), hidden
        token = self._folder / "token"
        token.write_text(secrets.token_hex(32))
        token.chmod(0o600)
        self.address = f"{HEAD}:{_free_port()}"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        access = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
        self.env = {**ours, **access, **QUICK}
        self._nodes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        port = self.address.partition(":")[2]
        head = ["--head", f"--port={port}", f"--ray-client-server-port={_free_port()}"]
        self._start(HEAD, *head, "--include-dashboard=false", f"--temp-dir={self._folder}")
        self.add_node()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in reversed(self._nodes):
            _kill_all(node)
        shutil.rmtree(self._folder, ignore_errors=True)

    def add_node(self) -> None:
        """Start the second node."""
        self._start(OTHER, f"--address={self.address}")

    def lose_node(self) -> None:
        """Kill the second node with all its processes."""
        _kill_all(self._nodes.pop())

    def has(self, pid: int) -> bool:
        """Whether a process belongs to the second node."""
        return pid in {each.pid for each in psutil.Process(self._nodes[-1].pid).children(recursive=True)}

    def _start(self, host: str, *words: str) -> None:
        share = ("--num-cpus=1", "--memory=2000000000", "--object-store-memory=80000000")
        command = [*self._ray, "start", "--block", f"--node-ip-address={host}", *share, *words]
        if host == OTHER and self._hidden is not None:
            mount = 'mount -t tmpfs none "$0" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", mount, str(self._hidden), *command]
        log = self._folder / f"{host}.log"
        with log.open("wb") as output:
            node = subprocess.Popen(
                command, env=self.env, stdout=output, stderr=output, start_new_session=True
            )
        self._nodes.append(node)
        while STARTED not in log.read_text(errors="replace"):
            if node.poll() is not None:
                raise RuntimeError(f"a Ray node did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)


def _kill_all(node: subprocess.Popen[bytes]) -> None:
    try:
        mine = psutil.Process(node.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        mine = []
    node.kill()
    for each in mine:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    node.wait()
    while any(map(_is_alive, mine)):
        time.sleep(0.05)


def _is_alive(process: psutil.Process) -> bool:
    """Whether a process is running and not a zombie."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HEAD, 0))
        port: int = probe.getsockname()[1]
        return port
