"""A soak test of the studio: python -m benchmarks.studio_soak MINUTES [N_RUNS] [N_CLIENTS].

Starts a studio, N_RUNS live runs (default: 10) and N_CLIENTS clients (default: 20). A fifth of the clients
read slowly and a fifth break off in the middle of requests. Prints the memory of the server over time and
how long lists of records took, and fails if a client missed an event or if the memory grew.
"""

import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import psutil

SETTLE_SECONDS = 30
"""Memory is compared with that after this time, when all routes were used."""
MAX_GROWTH = 1.25
BATCHES_PER_SECOND = 20


class LiveRun(threading.Thread):
    """Writes the events of a run as its process would, with numbered losses."""

    def __init__(self, folder: Path, spec: str, end: float) -> None:
        super().__init__(daemon=True)
        self._log, self._end, self.n_events = folder / "events.jsonl", end, 0
        folder.mkdir()
        (folder / "spec.json").write_text(spec)

    def run(self) -> None:
        with self._log.open("ab", buffering=0) as log:
            while time.monotonic() < self._end:
                step = {"event": "train-step", "task": self.n_events // 1000, "epoch": 0, "n_images": 1}
                place = {"batch": self.n_events % 1000, "n_batches": 1000}
                log.write(json.dumps({**step, **place, "losses": {"loss": self.n_events}}).encode() + b"\n")
                self.n_events += 1
                time.sleep(1 / BATCHES_PER_SECOND)


class Client(threading.Thread):
    """Follows the curves of runs; counts what it received for the first of them."""

    def __init__(self, url: httpx.URL, records: list[str], end: float, kind: str) -> None:
        super().__init__(daemon=True)
        self._url, self._records, self._end, self.kind = url, records, end, kind
        self.last, self.n_missed, self.error = -1, 0, ""
        self.list_seconds: list[float] = []

    def run(self) -> None:
        try:
            with httpx.Client(base_url=self._url.copy_with(query=None), timeout=60) as client:
                client.headers["x-everlearn-token"] = self._url.params["token"]
                while time.monotonic() < self._end:
                    self._follow(client)
        except httpx.HTTPError as error:
            path = error.request.url.path
            self.error = f"{self.kind} client: {type(error).__name__} at {path}"
            print(self.error, flush=True)

    def _follow(self, client: httpx.Client) -> None:
        answer = client.get("/api/records").raise_for_status()
        self.list_seconds.append(answer.elapsed.total_seconds())
        client.get("/api/comparison", params={"record": self._records[:1]})
        self.last = -1
        breaks_at = time.monotonic() + (random.uniform(0, 5) if self.kind == "broken" else 1e9)
        with client.stream("GET", "/api/records/live", params={"record": self._records}) as response:
            for line in response.iter_lines():
                if line.startswith("data: "):
                    self._receive(json.loads(line.removeprefix("data: ")))
                if self.kind == "slow":
                    time.sleep(0.3)
                if time.monotonic() > min(self._end, breaks_at):
                    return

    def _receive(self, message: dict[str, Any]) -> None:
        if message["record"] != self._records[0]:
            return
        losses = [int(y) for _, y in message["points"].get("loss", [])]
        if message["restarts"] or self.last < 0:
            self.last = losses[-1] if losses else self.last  # downsampled from the start
            return
        for loss in losses:
            self.n_missed += loss - self.last - 1
            self.last = loss


def unfinished_request(url: httpx.URL) -> None:
    """A connection that is cut in the middle of a request."""
    with socket.create_connection((url.host, url.port), timeout=10) as connection:
        connection.sendall(b"POST /api/decode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\na")


def main(minutes: float, n_runs: int, n_clients: int) -> int:
    """Run the test; 0 if no event was lost and the memory stayed flat."""
    from everlearn.runs import RunSpec

    with tempfile.TemporaryDirectory() as folder:
        options = ["--records", folder, "--no-browser", "--json"]
        command = [sys.executable, "-m", "everlearn", "studio", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = httpx.URL(json.loads(server.stdout.readline())["url"])
                end = time.monotonic() + 60 * minutes
                specs = [RunSpec.make(learner="naive", settings={"seed": seed}) for seed in range(n_runs)]
                runs = [LiveRun(Path(folder, f"run-{i}"), s.to_json(), end) for i, s in enumerate(specs)]
                names = [f"run-{number}" for number in range(n_runs)]
                kinds = ("steady", "steady", "steady", "slow", "broken")
                clients = [
                    Client(url, names[i % n_runs :] + names[: i % n_runs], end, kinds[i % len(kinds)])
                    for i in range(n_clients)
                ]
                for thread in (*runs, *clients):
                    thread.start()
                memory = watch(server.pid, url, end)
                for run in runs:
                    run.join()
                return report(runs, clients, memory)
            finally:
                server.terminate()


def watch(pid: int, url: httpx.URL, end: float) -> list[tuple[float, int]]:
    """The memory of the server over time."""
    process, start, memory = psutil.Process(pid), time.monotonic(), []
    while time.monotonic() < end:
        unfinished_request(url)
        memory.append((time.monotonic() - start, process.memory_info().rss))
        print(f"{memory[-1][0]:6.0f} s  {memory[-1][1] / 1e6:6.1f} MB  {process.num_fds()} files", flush=True)
        time.sleep(min(10, max(0.1, end - time.monotonic())))
    return memory


def report(runs: list[LiveRun], clients: list[Client], memory: list[tuple[float, int]]) -> int:
    """Print the results; 1 if anything is wrong."""
    for client in clients:
        client.join(90)
    missed = {client.kind: 0 for client in clients}
    for client in clients:
        missed[client.kind] += client.n_missed
    errors = [client.error for client in clients if client.error]
    lists = sorted(seconds for client in clients for seconds in client.list_seconds)
    settled = [size for seconds, size in memory if seconds >= SETTLE_SECONDS] or [memory[-1][1]]
    growth = settled[-1] / settled[0]
    print(
        f"{sum(run.n_events for run in runs):,} events written, missed: {missed}; errors: {errors or 'none'}"
    )
    print(
        f"memory after {SETTLE_SECONDS} s and at the end: {settled[0] / 1e6:.1f}, {settled[-1] / 1e6:.1f} MB"
    )
    print(f"{len(lists)} lists: median {lists[len(lists) // 2]:.2f} s, longest {lists[-1]:.2f} s")
    return int(bool(any(missed.values()) or errors or growth > MAX_GROWTH))


if __name__ == "__main__":
    minutes, n_runs, n_clients = [*sys.argv[1:], *("1", "10", "20")[len(sys.argv) - 1 :]]
    sys.exit(main(float(minutes), int(n_runs), int(n_clients)))
