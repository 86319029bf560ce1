"""Many who come at once, and some who never listen, keep nobody else waiting."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from .test_serving import everlearn_studio
from .test_thinning import spiky

CROWD = 1000
DEAF = 40
ASKED = 200
"""Questions that each of the deaf asks without reading an answer."""
RISE = 100_000_000


@pytest.fixture(autouse=True)
def _many_files() -> Iterator[None]:
    """Room for a thousand connections on our own side, too."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[0] < 2 * CROWD:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * CROWD, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def begin(url: httpx.URL, method: str, path: str, *headers: str) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"X-Everlearn-Token: {url.params['token']}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def served(url: httpx.URL) -> None:
    """Whoever asks properly is answered."""
    headers = {"x-everlearn-token": url.params["token"]}
    with httpx.Client(base_url=url.copy_with(query=None), headers=headers, timeout=60) as client:
        assert client.get("/").status_code == 200
        assert client.get("/api/records").json()["total"] == 2
        assert client.get("/api/sprites/image.png", params={"image_size": 16}).status_code == 200


def test_a_thousand_open_connections(records: Path) -> None:
    """Silent ones, half requests, half bodies and listeners, at a server that may open few files at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # which the server inherits
    with everlearn_studio(records) as (process, line), ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        url = httpx.URL(line.split()[-1])
        ways = (
            b"",
            b"GET /api/records HTTP/1.1\r\nHost: local",
            begin(url, "POST", "/api/image", "Content-Length: 1000") + b"a",
            begin(url, "GET", "/api/records/live?record=dcl"),
        )
        for number in range(CROWD):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", url.port), timeout=60))
            raw.sendall(ways[number % len(ways) if number < 100 else number % (len(ways) - 1)])
        served(url)
        assert process.poll() is None


def test_whoever_does_not_read_costs_nothing(records: Path) -> None:
    """Answers that nobody takes are not piled up: what a connection holds is bounded."""
    spiky(records / "nearest", 25_000)
    with everlearn_studio(records) as (process, line), ExitStack() as stack:
        url = httpx.URL(line.split()[-1])
        served(url)
        server = psutil.Process(process.pid)
        before = server.memory_info().rss
        question = begin(url, "GET", "/static/style.css") * ASKED
        for number in range(DEAF):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", url.port), timeout=60))
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.sendall(question if number % 4 else begin(url, "GET", "/api/records/live?record=nearest"))
        for _ in range(5):
            served(url)
        assert server.memory_info().rss - before < RISE
