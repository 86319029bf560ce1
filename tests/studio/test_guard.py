"""Nobody but our own page gets in, and our own page always does."""

import http.client
import itertools
import socket
from typing import Any

import pytest
from starlette.routing import Route

from .visits import Studio

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PAGES = ("/", "/favicon.ico", "/static/{name}")
HOSTILE_HOSTS = (
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
GOOD_HOSTS = (
    "localhost",
    "127.0.0.1",
    "[::1]",
    "LOCALHOST",
    "localhost:{port}",
    "127.0.0.1:{port}",
    "[::1]:{port}",
)
CROSS_SITE: tuple[dict[str, str], ...] = (
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


def routes(studio: Studio) -> list[tuple[str, str]]:
    """Every method and path that the app itself says it has."""
    found = [route for route in studio.app.routes if isinstance(route, Route)]
    assert len(found) == len(studio.app.routes), "a route that this test cannot list"
    return [(method, route.path) for route in found for method in sorted(route.methods or ())]


def ask(studio: Studio, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> int:
    """The code of the answer to a request with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value.replace("{port}", str(studio.port)))
    connection.endheaders(body)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def with_token(studio: Studio, **headers: str) -> dict[str, str]:
    return {"Host": "127.0.0.1:{port}", "X-Everlearn-Token": studio.token, **headers}


def test_the_app_tells_its_routes(studio: Studio) -> None:
    found = routes(studio)
    assert len(found) >= 20
    assert {path for _, path in found} >= {
        "/",
        "/api/records",
        "/api/memory/save",
        "/api/runs",
        "/api/image",
    }


def test_no_route_answers_a_hostile_host(studio: Studio) -> None:
    paths = {path for _, path in routes(studio)}
    for path, method in itertools.product(paths, METHODS):
        assert ask(studio, method, path, {**with_token(studio), "Host": "evil.example"}) == 403, (
            method,
            path,
        )
    for host in HOSTILE_HOSTS:
        for path in ("/", "/static/app.js", "/api/records"):
            assert ask(studio, "GET", path, {**with_token(studio), "Host": host}) in (400, 403), host


def test_a_request_without_host_or_with_two_is_refused(studio: Studio) -> None:
    for head in (
        b"",
        b"Host: localhost\r\nHost: localhost\r\n",
        b"Host: localhost\r\nHost: evil.example\r\n",
    ):
        with socket.create_connection(("127.0.0.1", studio.port), timeout=30) as raw:
            token = f"X-Everlearn-Token: {studio.token}\r\n\r\n".encode()
            raw.sendall(b"GET /api/records HTTP/1.1\r\n" + head + token)
            assert raw.recv(100).split()[1] in (b"400", b"403")


def test_no_route_answers_another_site(studio: Studio) -> None:
    for (method, path), strange in itertools.product(routes(studio), CROSS_SITE):
        assert ask(studio, method, path, with_token(studio, **strange)) == 403, (method, path, strange)


def test_no_route_but_the_pages_answers_without_the_token(studio: Studio) -> None:
    wrong: tuple[dict[str, str], ...] = (
        {},
        {"X-Everlearn-Token": ""},
        {"X-Everlearn-Token": studio.token[:-1]},
    )
    for (method, path), headers in itertools.product(routes(studio), wrong):
        if path not in PAGES:
            assert ask(studio, method, path, {"Host": "localhost", **headers}) == 403, (method, path)
    for method in ("POST", "PUT", "DELETE"):
        assert ask(studio, method, "/", {"Host": "localhost"}) == 403


def test_a_token_in_the_address_is_for_reading_only(studio: Studio) -> None:
    host = {"Host": "localhost"}
    assert ask(studio, "GET", f"/api/records?token={studio.token}", host) == 200
    assert ask(studio, "GET", f"/api/records?token={studio.token}x", host) == 403
    assert ask(studio, "GET", f"/api/records?token={studio.token}&token=x", host) == 403
    assert ask(studio, "POST", f"/api/memory/undo?record=dcl&seen=0&token={studio.token}", host) == 403


def test_reading_changes_nothing(studio: Studio) -> None:
    """Whatever a page could be tricked into loading is a GET; none of them may be an act."""
    acts = {"/api/runs", "/api/runs/stop", "/api/runs/resume", "/api/recognise", "/api/image"}
    acts |= {"/api/dreams/imagine"}
    acts |= {f"/api/memory/{act}" for act in ("add", "rename", "forget", "undo", "save")}
    found = routes(studio)
    assert {path for method, path in found if method == "POST"} == acts
    assert {method for method, path in found if path in acts} == {"POST"}


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_legitimate_requests_are_answered(studio: Studio, host: str) -> None:
    """Six each under seven names: forty-two that must not be refused."""
    own = {**with_token(studio), "Host": host}
    assert ask(studio, "GET", "/", {"Host": host, "Sec-Fetch-Site": "none"}) == 200
    assert ask(studio, "GET", "/static/colours.css", {"Host": host, "Sec-Fetch-Site": "same-origin"}) == 200
    assert ask(studio, "GET", "/api/records", own) == 200
    assert (
        ask(studio, "GET", "/api/sprites/image.png?image_size=16", {**own, "Origin": f"http://{host}"}) == 200
    )
    assert ask(studio, "GET", f"/api/records/curves?record=dcl&token={studio.token}", {"Host": host}) == 200
    assert (
        ask(studio, "POST", "/api/recognise?record=dcl", {**own, "Origin": f"http://{host}"}, bytes(1024))
        == 200
    )


TRAVERSALS = (
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


def test_no_name_leads_out_of_the_folder(studio: Studio, tmp_path: Any) -> None:
    assert len(TRAVERSALS) >= 40
    root = studio.app.state.rooms.shelf.root
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "spec.json").write_bytes((root / "dcl" / "spec.json").read_bytes())
    (root / "group").mkdir()
    for link in (root / "link", root / "group" / "link"):
        link.symlink_to(tmp_path / "outside", target_is_directory=True)
    others: dict[str, str | int] = {"seen": 0, "label": 0, "name": "x", "curve": "loss", "ending": "csv"}
    named = [
        (method, path)
        for method, path in routes(studio)
        if "record is missing" in studio.client.request(method, path, params=others).text
    ]
    assert len(named) >= 20
    for (method, path), name in itertools.product(named, TRAVERSALS):
        answer = studio.client.request(method, path, params={"record": name, **others})
        assert answer.status_code in (400, 404), (method, path, name)
        assert "error" in answer.json()
    for name in TRAVERSALS:
        code = studio.get(f"/static/{name}").status_code if "\0" not in name else 404
        assert code in (400, 404) or name in ("..", ".", "/", "~"), name
    assert [each["record"] for each in studio.get("/api/records").json()["records"]] == ["nearest", "dcl"]


def test_every_answer_tells_the_browser_to_be_careful(studio: Studio) -> None:
    for path in ("/", "/static/colours.css", "/api/records", "/api/none", "/api/sprites/image.png"):
        headers = studio.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_a_web_socket_is_refused(studio: Studio) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    code = ask(studio, "GET", "/api/records/live?record=x", with_token(studio, **upgrade, **key))
    assert code != 101
