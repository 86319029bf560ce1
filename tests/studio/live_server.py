"""A studio served in a thread, with an HTTP client."""

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from everlearn.studio.server import Endpoint, Server, create_app, listen

TIMEOUT = 300
"""Seconds; enough for a machine that runs many other processes."""
SETTINGS: dict[str, Any] = {
    "stream.image_size": 16,
    "stream.factor_values": 2,
    "stream.split": [8, 3, 3],
    "stream.classes_per_task": 3,
    "n_tasks": 2,
}
"""A run of a second."""


@dataclass(frozen=True)
class Studio:
    """A studio that is being served.

    Attributes:
        app: the application.
        url: its URL, with the token.
        token: the token.
        client: sends the token.
    """

    app: FastAPI
    url: str
    token: str
    client: httpx.Client

    @property
    def port(self) -> int:
        return httpx.URL(self.url).port or 0

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.client.get(path, params=query)

    def post(self, path: str, content: bytes = b"", **query: Any) -> httpx.Response:
        return self.client.post(path, params=query, content=content)


@contextmanager
def serve_in_thread(records: Path) -> Iterator[Studio]:
    endpoint = listen()
    app = create_app(records, endpoint.token)
    with serve_app(app, endpoint) as studio:
        yield studio


@contextmanager
def serve_app(app: FastAPI, endpoint: Endpoint) -> Iterator[Studio]:
    server = Server(app, endpoint.certificate)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    base = httpx.URL(endpoint.url).copy_with(query=None)
    headers = {"x-everlearn-token": endpoint.token}
    trusted = ssl.create_default_context(cafile=endpoint.certificate.path) if endpoint.certificate else False
    try:
        with httpx.Client(base_url=base, headers=headers, timeout=TIMEOUT, verify=trusted) as client:
            yield Studio(app, endpoint.url, endpoint.token, client)
    finally:
        server.should_exit = True
        thread.join(TIMEOUT)
        endpoint.socket.close()


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)


def train_step(batch: int, n_batches: int = 10_000, loss: float | None = None) -> bytes:
    """A line of events.jsonl."""
    event = {"event": "train-step", "task": 0, "epoch": 0, "batch": batch, "n_batches": n_batches}
    return json.dumps({**event, "n_images": 1, "losses": {"loss": loss or 1 / (batch + 1)}}).encode() + b"\n"


def write_long_curve(record: Path, n_points: int) -> None:
    """A loss of 1 everywhere, except for one batch with a loss of 77."""
    peak = n_points // 3
    steps = (train_step(batch, n_points, 77.0 if batch == peak else 1.0) for batch in range(n_points))
    (record / "events.jsonl").write_bytes(b"".join(steps))
