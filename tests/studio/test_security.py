import http.client
import itertools
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from everlearn.studio import security

from .live_server import TIMEOUT, Studio

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PUBLIC_PATHS = ("/", "/favicon.ico", "/static/{name}")
STATE_CHANGING_PATHS = {
    "/api/runs",
    "/api/runs/stop",
    "/api/runs/resume",
    "/api/recognition",
    "/api/decode",
    "/api/environments/reconstructions",
    *(f"/api/records/{action}" for action in ("edit", "delete", "open")),
    *(f"/api/trash/{action}" for action in ("restore", "empty")),
    *(f"/api/memory/{action}" for action in ("add", "rename", "forget", "undo", "save")),
}
FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "localhost.",
    "127.0.0.1.",
    "127.0.0.2",
    "0.0.0.0",
    "[::]",
    "::1",
    "[::1].evil.example",
    "localhost@evil.example",
    "localhost:80:80",
    "localhost:999999",
    "localhost:",
    "localhost, evil.example",
    "192.168.0.1",
    "2130706433",
    "",
)
LOOPBACK_HOSTS = (
    "localhost",
    "127.0.0.1",
    "[::1]",
    "LOCALHOST",
    "localhost:{port}",
    "127.0.0.1:{port}",
    "[::1]:{port}",
)
CROSS_SITE_HEADERS: tuple[dict[str, str], ...] = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://evil.example", "Content-Type": "text/plain"},
    {"Origin": "null", "Content-Type": "application/x-www-form-urlencoded"},
    {"Sec-Fetch-Site": "cross-site", "Content-Type": "multipart/form-data; boundary=x"},
)
INVALID_NAMES = (
    "..",
    "../records/dcl",
    "../../etc",
    "./dcl",
    "dcl/",
    "/dcl",
    "//dcl",
    "dcl/.",
    "dcl/..",
    "dcl/../dcl",
    "dcl/checkpoint",
    "..%2fdcl",
    "%2e%2e/dcl",
    "%252e%252e%252fdcl",
    "..\\dcl",
    "..%5cdcl",
    "....//dcl",
    "/etc/passwd",
    "/etc",
    "~",
    "~root",
    "$HOME",
    "C:\\Windows",
    "\\\\server\\share",
    "file:///etc/passwd",
    "http://127.0.0.1/",
    "dcl\0",
    "dcl%00",
    "\0",
    "",
    " ",
    ".",
    "link",
    "group/link",
    "dcl/spec.json",
    "a" * 300,
    "a/" * 200,
    "a/b/c",
    "\ud7ff\uffff",
    "\u2025/dcl",
    "\uff0e\uff0e/dcl",
)
PARAMETERS = {"version": 0, "label": 0, "name": "x", "curve": "loss", "format": "csv"}


def routes(studio: Studio) -> list[tuple[str, str]]:
    """All methods and paths of the application."""
    found = [route for route in studio.app.routes if isinstance(route, Route)]
    assert len(found) == len(studio.app.routes) >= 20
    return [(method, route.path) for route in found for method in sorted(route.methods or ())]


def status(studio: Studio, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> int:
    """The status of the response to a request with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=TIMEOUT)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value.replace("{port}", str(studio.port)))
    connection.endheaders(body)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def with_token(studio: Studio, **headers: str) -> dict[str, str]:
    return {"Host": "127.0.0.1:{port}", "X-Everlearn-Token": studio.token, **headers}


def test_foreign_hosts_are_rejected(shared_studio: Studio) -> None:
    headers = with_token(shared_studio)
    paths = {path for _, path in routes(shared_studio)}
    for path, method in itertools.product(paths, METHODS):
        code = status(shared_studio, method, path, {**headers, "Host": "evil.example"})
        assert code == 403, (method, path)
    for host, path in itertools.product(FOREIGN_HOSTS, ("/", "/static/app.js", "/api/records")):
        assert status(shared_studio, "GET", path, {**headers, "Host": host}) in (400, 403), host


def test_exactly_one_host_header_is_required(shared_studio: Studio) -> None:
    own, foreign = b"Host: localhost\r\n", b"Host: evil.example\r\n"
    for hosts in (b"", own + own, own + foreign):
        with socket.create_connection(("127.0.0.1", shared_studio.port), timeout=TIMEOUT) as connection:
            token = f"X-Everlearn-Token: {shared_studio.token}\r\n\r\n".encode()
            connection.sendall(b"GET /api/records HTTP/1.1\r\n" + hosts + token)
            assert connection.recv(100).split()[1] in (b"400", b"403")


def test_cross_site_requests_are_rejected(shared_studio: Studio) -> None:
    for (method, path), headers in itertools.product(routes(shared_studio), CROSS_SITE_HEADERS):
        code = status(shared_studio, method, path, with_token(shared_studio, **headers))
        assert code == 403, (method, path, headers)


def test_all_but_public_paths_need_the_token(shared_studio: Studio) -> None:
    wrong = ({}, {"X-Everlearn-Token": ""}, {"X-Everlearn-Token": shared_studio.token[:-1]})
    for (method, path), headers in itertools.product(routes(shared_studio), wrong):
        if path not in PUBLIC_PATHS:
            assert status(shared_studio, method, path, {"Host": "localhost", **headers}) == 403, (
                method,
                path,
            )
    for method in ("POST", "PUT", "DELETE"):
        assert status(shared_studio, method, "/", {"Host": "localhost"}) == 403


def test_the_token_in_a_url_is_valid_only_for_get(shared_studio: Studio) -> None:
    host, token = {"Host": "localhost"}, f"token={shared_studio.token}"
    assert status(shared_studio, "GET", f"/api/records?{token}", host) == 200
    assert status(shared_studio, "GET", f"/api/records?{token}x", host) == 403
    assert status(shared_studio, "GET", f"/api/records?{token}&token=x", host) == 403
    assert status(shared_studio, "POST", f"/api/memory/undo?record=dcl&version=0&{token}", host) == 403


def test_get_requests_change_no_state(shared_studio: Studio) -> None:
    """A page of another site can cause GET requests, so none may have an effect."""
    found = routes(shared_studio)
    assert {path for method, path in found if method == "POST"} == STATE_CHANGING_PATHS
    assert {method for method, path in found if path in STATE_CHANGING_PATHS} == {"POST"}


def test_own_requests_are_accepted(shared_studio: Studio) -> None:
    for host in LOOPBACK_HOSTS:
        own = with_token(shared_studio, Host=host)
        same_origin = {**own, "Origin": f"http://{host}"}
        token = f"token={shared_studio.token}"
        style = {"Host": host, "Sec-Fetch-Site": "same-origin"}
        assert status(shared_studio, "GET", "/", {"Host": host, "Sec-Fetch-Site": "none"}) == 200
        assert status(shared_studio, "GET", "/static/colours.css", style) == 200
        assert status(shared_studio, "GET", "/api/records", own) == 200
        assert status(shared_studio, "GET", "/api/sprites/image.png?image_size=16", same_origin) == 200
        assert status(shared_studio, "GET", f"/api/records/curves?record=dcl&{token}", {"Host": host}) == 200
        assert status(shared_studio, "POST", "/api/recognition?record=dcl", same_origin, bytes(1024)) == 200


def test_no_name_leads_out_of_the_folder(studio: Studio, records: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "spec.json").write_bytes((records / "dcl" / "spec.json").read_bytes())
    (records / "group").mkdir()
    for link in (records / "link", records / "group" / "link"):
        link.symlink_to(tmp_path / "outside", target_is_directory=True)
    of_a_record = [
        (method, path)
        for method, path in routes(studio)
        if "record is missing" in studio.client.request(method, path, params=PARAMETERS).text
    ]
    assert len(of_a_record) >= 20
    for (method, path), name in itertools.product(of_a_record, INVALID_NAMES):
        response = studio.client.request(method, path, params={"record": name, **PARAMETERS})
        assert response.status_code in (400, 404), (method, path, name)
        assert "error" in response.json()
    for name in INVALID_NAMES:
        code = studio.get(f"/static/{name}").status_code if "\0" not in name else 404
        assert code in (400, 404) or name in ("..", ".", "/", "~"), name
        response = studio.post("/api/trash/restore", item=name)
        assert response.status_code in (400, 404), name
    assert [each["record"] for each in studio.get("/api/records").json()["records"]] == ["nearest", "dcl"]


def test_responses_have_security_headers(shared_studio: Studio) -> None:
    for path in ("/", "/static/colours.css", "/api/records", "/api/none", "/api/sprites/image.png"):
        headers = shared_studio.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_web_sockets_are_rejected(shared_studio: Studio) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    headers = with_token(shared_studio, **upgrade, **key)
    assert status(shared_studio, "GET", "/api/records/live?record=x", headers) != 101


@contextmanager
def unfinished_request(studio: Studio, *headers: str) -> Iterator[socket.socket]:
    """A POST request without its body."""
    lines = ["POST /api/decode HTTP/1.1", "Host: localhost", f"X-Everlearn-Token: {studio.token}", *headers]
    with socket.create_connection(("127.0.0.1", studio.port), timeout=TIMEOUT) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        yield connection


def test_a_body_that_announces_too_many_bytes_is_rejected(shared_studio: Studio) -> None:
    with unfinished_request(shared_studio, f"Content-Length: {security.MAX_BODY_BYTES + 1}") as connection:
        assert connection.recv(1000).split()[1] == b"413"


def test_a_chunked_body_with_too_many_bytes_is_rejected(shared_studio: Studio) -> None:
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    with unfinished_request(shared_studio, "Transfer-Encoding: chunked") as connection:
        try:
            for _ in range(security.MAX_BODY_BYTES // 0x10000 + 2):
                connection.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server closed the connection
        else:
            assert connection.recv(1000).split()[1] == b"413"
    assert shared_studio.get("/api/records").status_code == 200


def test_a_slow_body_is_rejected(shared_studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_TIMEOUT", 0.3)
    with unfinished_request(shared_studio, "Content-Length: 100") as connection:
        connection.sendall(b"a")
        assert connection.recv(1000).split()[1] == b"408"


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
def test_an_invalid_body_is_an_error_message(shared_studio: Studio, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    response = shared_studio.client.post("/api/runs", content=body, headers=headers)
    assert response.status_code == 400
    assert len(response.json()["error"]) < 300


_listeners: list[Callable[[str, tuple[Any, ...]], None]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        for listener in _listeners:
            listener(event, arguments)


sys.addaudithook(_audit)  # hooks cannot be removed


@pytest.fixture
def connections() -> Iterator[list[str]]:
    """Outgoing connections of all threads except the one of the test."""
    found: list[str] = []
    own_thread = threading.get_ident()

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        if threading.get_ident() != own_thread:
            found.append(f"{event} {arguments}")

    _listeners.append(listen)
    yield found
    _listeners.remove(listen)


def test_outgoing_connections_are_detected(connections: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: socket.create_connection(server.getsockname()).close())
        thread.start()
        thread.join()
    assert any("socket.connect" in each for each in connections)


def test_no_url_is_requested(studio: Studio, connections: list[str]) -> None:
    """Neither the server nor its child processes request a URL that is passed in any parameter."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        url = f"http://127.0.0.1:{target.getsockname()[1]}/x.png"
        svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}"/></svg>'.encode()
        texts = {"record": url, "name": url, "curve": url, "format": "svg", "query": url}
        query = {**PARAMETERS, **texts}
        for method, route in routes(studio):
            path = route.replace("{name}", "x")
            studio.client.request(method, path, params=query, content=svg)
            if not path.endswith("/live"):  # its response does not end
                studio.client.request(method, path, params={**query, "record": "dcl"}, content=svg)
        for key in ("stream.data", "stream.folder", "learner.weights", "device"):
            for stream in ("sprites", "images", "environments"):
                run = {"stream": stream, "learner": "nearest", "settings": {key: url}, "name": url}
                assert studio.client.post("/api/runs", json=run).status_code in (400, 409)
        target.settimeout(0.5)
        with pytest.raises(TimeoutError):
            target.accept()
    assert connections == []
