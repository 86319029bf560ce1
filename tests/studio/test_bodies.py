"""What is sent is bounded, and whoever sends too much or too slowly keeps nobody else waiting."""

import itertools
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from everlearn.studio import security

from .visits import Studio

LARGE = security.MAX_BYTES + 1


def begin(studio: Studio, path: str, *headers: str) -> socket.socket:
    """A request whose body is still to come."""
    raw = socket.create_connection(("127.0.0.1", studio.port), timeout=60)
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"X-Everlearn-Token: {studio.token}", *headers]
    raw.sendall("\r\n".join([*lines, "", ""]).encode())
    return raw


def code(raw: socket.socket) -> bytes:
    return raw.recv(1000).split()[1]


def test_a_body_that_says_it_is_too_large_is_not_read(studio: Studio) -> None:
    with begin(studio, "/api/image", f"Content-Length: {LARGE}") as raw:
        assert code(raw) == b"413"


def test_an_endless_body_is_given_up(studio: Studio) -> None:
    def pieces() -> Iterator[bytes]:
        piece = b"10000\r\n" + bytes(0x10000) + b"\r\n"
        return itertools.repeat(piece, LARGE // 0x10000 + 2)

    with begin(studio, "/api/image", "Transfer-Encoding: chunked") as raw:
        try:
            for piece in pieces():
                raw.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up, as it should
        else:
            assert code(raw) == b"413"
    assert studio.get("/api/records").status_code == 200


def test_a_slow_body_is_given_up(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "PATIENCE", 0.3)
    with begin(studio, "/api/image", "Content-Length: 100") as raw:
        raw.sendall(b"a")
        assert code(raw) == b"408"


def test_many_who_wait_keep_nobody_else_waiting(studio: Studio) -> None:
    with ExitStack() as stack:
        for number in range(400):
            path, headers = ("/api/image", ("Content-Length: 9",)) if number % 2 else ("/api/x", ())
            stack.enter_context(begin(studio, path, *headers))
        assert studio.get("/api/records").status_code == 200
        assert studio.get("/api/sprites/image.png", image_size=16).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"words"',
        b"1e999",
        b'{"settings": 1}',
        b"{",
    ],
)
def test_a_body_that_makes_no_sense_is_a_sentence(studio: Studio, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = studio.client.post("/api/runs", content=body, headers=headers)
    assert answer.status_code == 400
    assert len(answer.json()["error"]) < 300


@pytest.mark.parametrize("size", [0, 1, 3, 4, 4 * 7 * 7, 4 * 16 * 16 - 1, 4 * 16 * 17, 4 * 513 * 513])
def test_pixels_that_are_no_square_are_refused(studio: Studio, size: int) -> None:
    answer = studio.post("/api/recognise", bytes(size), record="dcl")
    assert answer.status_code == 400
    assert "no square image" in answer.json()["error"]
