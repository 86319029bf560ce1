"""A phone in the same network: HTTPS, its rights, and the page in a browser."""

import hashlib
import http.client
import itertools
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from everlearn.cli import main
from everlearn.studio.security import PHONE_ROUTES
from everlearn.studio.server import create_app, listen, listen_for_phone

from .browser import launch_chromium, open_page
from .live_server import TIMEOUT, Studio, serve_app
from .test_security import CROSS_SITE_HEADERS, FOREIGN_HOSTS, PUBLIC_PATHS, routes

ADDRESS = "127.0.0.1"
CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
BAD_HOSTS = {
    "phone.local": "is no IP address",
    "": "is no IP address",
    "0.0.0.0": "is not one address",
    "::": "is not one address",
    "fe80::1%lo": "is not one address",
    "224.0.0.1": "is not one address",
    "203.0.113.77": "is not an address of this machine",
}


@dataclass(frozen=True)
class Pair:
    """One studio, as it is reached from this machine and from a phone."""

    local: Studio
    phone: Studio


@pytest.fixture(autouse=True, scope="module")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Certificates are not written into the folder of the user who runs the tests."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def pair(trained_records: Path, state_folder: Path) -> Iterator[Pair]:
    """For tests that save nothing."""
    endpoint, phone = listen(), listen_for_phone(ADDRESS)
    app = create_app(trained_records, endpoint.token, phone)
    with serve_app(app, endpoint) as local, serve_app(app, phone) as remote:
        yield Pair(local, remote)


def status(phone: Studio, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> int:
    """The status of the response to an HTTPS request with exactly these headers."""
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(ADDRESS, phone.port, timeout=TIMEOUT, context=context)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        connection.putheader(name, value.replace("{port}", str(phone.port)))
    connection.endheaders(body)
    code = connection.getresponse().status
    connection.close()
    return code


def with_token(phone: Studio, **headers: str) -> dict[str, str]:
    return {"Host": f"{ADDRESS}:{phone.port}", "X-Everlearn-Token": phone.token, **headers}


def test_a_phone_asks_teaches_and_forgets_over_https(pair: Pair) -> None:
    phone, pixels = pair.phone, bytes([0, 0, 0, 255] * 32 * 32)
    (listed,) = phone.get("/api/memory/records").json()["records"]
    assert set(listed) == {"record", "name", "learner", "n_tasks"}
    assert phone.post("/api/recognition", pixels, record="dcl").json()["candidates"]
    image = phone.get("/api/memory/image.png", record="dcl", label=0).content
    assert phone.post("/api/decode", image).content[:4] == b"\x89PNG"
    drawn = bytearray(pixels)
    drawn[4 * 400 : 4 * 500] = bytes([255]) * 400
    taught = phone.post("/api/memory/add", bytes(drawn), record="dcl", version=0, name="kite").json()
    assert "kite" in pair.local.get("/api/memory", record="dcl").text
    forgotten = {"record": "dcl", "version": taught["version"], "label": taught["label"]}
    assert phone.post("/api/memory/forget", **forgotten).json()["n_unsaved"] == 2
    assert "kite" not in pair.local.get("/api/memory", record="dcl").text


def test_a_phone_has_no_other_rights(pair: Pair) -> None:
    for method, path in routes(pair.phone):
        code = status(pair.phone, method, path, with_token(pair.phone))
        is_allowed = (method, path) in PHONE_ROUTES or path in PUBLIC_PATHS
        assert (code != 403) == is_allowed, (method, path)
    for method, (_, path) in itertools.product(("PUT", "DELETE", "OPTIONS", "HEAD"), PHONE_ROUTES):
        assert status(pair.phone, method, path, with_token(pair.phone)) == 403
    for path in (
        "/api/memory/",
        "//api/memory",
        "/api/memory/../runs/options",
        "/api/memory/%2e%2e/vase",
    ):
        assert status(pair.phone, "GET", path, with_token(pair.phone)) == 403, path


def test_tokens_are_valid_for_one_scheme_only(pair: Pair) -> None:
    own = {"Host": f"{ADDRESS}:{pair.phone.port}"}
    wrong = ("", pair.phone.token[:-1], pair.local.token)
    for (method, path), token in itertools.product(PHONE_ROUTES, wrong):
        assert status(pair.phone, method, path, {**own, "X-Everlearn-Token": token}) == 403
    assert status(pair.phone, "GET", "/api/memory/records", own) == 403
    assert status(pair.phone, "GET", f"/api/memory/records?token={pair.phone.token}", own) == 200
    forwarded = {"x-everlearn-token": pair.phone.token, "x-forwarded-proto": "https"}
    assert pair.local.client.get("/api/memory/records", headers=forwarded).status_code == 403
    unforwarded = with_token(pair.phone, **{"X-Forwarded-Proto": "http"})
    assert status(pair.phone, "GET", "/api/records", unforwarded) == 403


def test_a_phone_must_name_its_host_and_its_own_site(pair: Pair) -> None:
    wrong = (
        *FOREIGN_HOSTS,
        "localhost",
        f"localhost:{pair.phone.port}",
        ADDRESS,
        f"{ADDRESS}:{pair.local.port}",
    )
    for host, path in itertools.product(wrong, ("/", "/api/memory/records")):
        assert status(pair.phone, "GET", path, with_token(pair.phone, Host=host)) in (400, 403), host
    own = f"https://{ADDRESS}:{pair.phone.port}"
    others = [each for each in CROSS_SITE_HEADERS if "https" not in each.get("Origin", "")]
    for headers in (*others, {"Origin": own.replace("https", "http")}):
        assert status(pair.phone, "GET", "/", with_token(pair.phone, **headers)) == 403, headers
    assert status(pair.phone, "GET", "/api/memory/records", with_token(pair.phone, Origin=own)) == 200


def test_an_untrusting_client_refuses_the_certificate(pair: Pair) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://{ADDRESS}:{pair.phone.port}/")


def test_the_page_can_be_installed(pair: Pair) -> None:
    manifest = pair.phone.get("/static/manifest.webmanifest")
    assert manifest.headers["content-type"] == "application/manifest+json"
    for icon in manifest.json()["icons"]:
        assert pair.phone.get(icon["src"]).headers["content-type"] == icon["type"]


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_bad_host_is_one_sentence(host: str, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", "--records", str(records), "--host", host, "--no-browser"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("everlearn: --host ")
    assert BAD_HOSTS[host] in output.err
    assert output.err.count("\n") == 1


def test_the_command_prints_address_and_fingerprint(records: Path) -> None:
    options = ["--records", str(records), "--host", ADDRESS, "--no-browser", "--json"]
    command = [sys.executable, "-m", "everlearn", "studio", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            phone = json.loads(process.stdout.readline())["phone"]
            url = httpx.URL(phone["url"])
            shown = ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((ADDRESS, url.port or 0)))
            token = {"x-everlearn-token": url.params["token"]}
            response = httpx.get(
                url.join("/api/memory/records"), headers=token, verify=False, timeout=TIMEOUT
            )
        finally:
            process.terminate()
        assert process.communicate(timeout=TIMEOUT) == ("", "")
    assert phone["fingerprint"].replace(":", "").lower() == hashlib.sha256(shown).hexdigest()
    assert response.status_code == 200


@pytest.mark.more
def test_the_camera_of_a_phone_asks_teaches_and_forgets(pair: Pair) -> None:
    with (
        launch_chromium(*CAMERA) as browser,
        open_page(browser, pair.phone, "#/runs", width=390) as page,
    ):
        expect(page.locator("h1")).to_have_text("Try it")
        expect(page.locator("nav a:visible")).to_have_text(["Try it"])
        page.get_by_role("button", name="Camera").click()
        page.get_by_role("button", name="Take photo").click()
        expect(page.locator(".prediction")).to_be_visible()
        page.get_by_label("Novelty threshold").fill("1")
        page.get_by_placeholder("class name").fill("test card")
        page.get_by_role("button", name="Add to memory").click()
        expect(page.get_by_role("heading", name="Taught: test card")).to_be_visible()
        predicted = page.locator(".prediction").inner_text()
        page.get_by_role("button", name=f"Forget {predicted}").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        expect(page.locator(".prediction")).not_to_have_text(predicted)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.goto(f"https://{ADDRESS}:{pair.phone.port}/")  # from the home screen, without the token
        expect(page.locator(".image-canvas")).to_be_visible()
