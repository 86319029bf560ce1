"""The studio fetches nothing from anywhere, whatever address it is given."""

import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from .visits import Studio

_watchers: list[Any] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        for watcher in _watchers:
            watcher(event, arguments)


sys.addaudithook(_hear)  # for good: Python lets nobody take one away


@pytest.fixture
def calls() -> Iterator[list[str]]:
    """What this process tries to reach from any thread but the test's own, which is the visitor's."""
    heard: list[str] = []
    visitor = threading.get_ident()

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if threading.get_ident() != visitor:
            heard.append(f"{event} {arguments}")

    _watchers.append(watch)
    yield heard
    _watchers.remove(watch)


def test_the_watch_can_hear(calls: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=lambda: socket.create_connection(door.getsockname()).close())
        thread.start()
        thread.join()
    assert any("socket.connect" in each for each in calls)


def test_no_address_is_followed(studio: Studio, calls: list[str]) -> None:
    """A door is named wherever words can be given; nobody may knock at it, no child of the server either."""
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.settimeout(0.5)
        url = f"http://127.0.0.1:{canary.getsockname()[1]}/x.png"
        svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}"/></svg>'.encode()
        words = {
            "record": url,
            "name": url,
            "label": 0,
            "seen": 0,
            "curve": url,
            "ending": "svg",
            "words": url,
        }
        for route in studio.app.routes:
            for method in route.methods:  # type: ignore[attr-defined]  # every route is one of HTTP
                path = route.path.replace("{name}", "x")  # type: ignore[attr-defined]
                studio.client.request(method, path, params=words, content=svg)
                if not path.endswith("/live"):  # which tells of a record without end
                    studio.client.request(method, path, params={**words, "record": "dcl"}, content=svg)
        for settings in (
            {"stream.data": url},
            {"stream.folder": url},
            {"learner.weights": url},
            {"device": url},
        ):
            for stream in ("sprites", "images", "environments"):
                wish = {"stream": stream, "learner": "nearest", "settings": settings, "name": url}
                assert studio.client.post("/api/runs", json=wish).status_code in (400, 409)
        with pytest.raises(TimeoutError):
            canary.accept()
    assert calls == []
