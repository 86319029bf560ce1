"""A studio that runs, and ways to ask it things."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from everlearn.studio.server import _Server, create_app, open_door

SETTINGS: dict[str, Any] = {
    "stream.image_size": 16,
    "stream.factor_values": 2,
    "stream.split": [8, 3, 3],
    "stream.classes_per_task": 3,
    "n_tasks": 2,
}
"""A run of moments."""


@dataclass(frozen=True)
class Studio:
    """A studio that is being served.

    Attributes:
        app: the application.
        address: where it is, token included.
        token: the token.
        client: asks with the token.
    """

    app: FastAPI
    address: str
    token: str
    client: httpx.Client

    @property
    def port(self) -> int:
        return httpx.URL(self.address).port or 0

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.client.get(path, params=query)

    def post(self, path: str, content: bytes = b"", **query: Any) -> httpx.Response:
        return self.client.post(path, params=query, content=content)


@contextmanager
def serving(records: Path) -> Iterator[Studio]:
    """Serve a folder of records in a thread of this process."""
    door = open_door()
    app = create_app(records, door.token)
    server = _Server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door.listener]}, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{door.listener.getsockname()[1]}"
    while not server.started:
        time.sleep(0.01)
    with httpx.Client(base_url=base, headers={"x-everlearn-token": door.token}, timeout=60) as client:
        yield Studio(app, door.address, door.token, client)
    server.should_exit = True
    thread.join(30)
    door.listener.close()
