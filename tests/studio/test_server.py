import itertools
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from everlearn import runs
from everlearn.cli import main
from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec
from everlearn.studio import listen
from everlearn.studio.server import create_app

from .conftest import train
from .live_server import SETTINGS, TIMEOUT, Studio, wait_until, write_long_curve

N_CONNECTIONS = 1000
N_SLOW_READERS, N_UNREAD_RESPONSES = 40, 200
MAX_MEMORY_INCREASE = 100_000_000


@contextmanager
def everlearn_studio(records: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.URL]]:
    """The command in its own process, and the URL that it printed."""
    options = ["--records", str(records), "--no-browser", "--json"]
    command = [sys.executable, "-m", "everlearn", "studio", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield process, httpx.URL(json.loads(line)["url"])
        finally:
            process.kill()


def client(url: httpx.URL) -> httpx.Client:
    headers = {"x-everlearn-token": url.params["token"]}
    return httpx.Client(base_url=url.copy_with(query=None), headers=headers, timeout=TIMEOUT)


def check_responds(url: httpx.URL) -> None:
    with client(url) as own:
        assert own.get("/").status_code == 200
        assert own.get("/api/records").json()["n_records"] == 2
        assert own.get("/api/sprites/image.png", params={"image_size": 16}).status_code == 200


def test_ctrl_c_ends_the_server_during_an_event_stream(records: Path) -> None:
    with everlearn_studio(records) as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", str(url))
        check_responds(url)
        with client(url) as own, own.stream("GET", "/api/records/live", params={"record": "dcl"}):
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, out, err) == (0, "", "")


def test_the_socket_is_on_the_loopback_interface() -> None:
    first, second = listen(), listen()
    host, port = first.socket.getsockname()
    assert host == "127.0.0.1"
    assert first.token != second.token
    with pytest.raises(BadInput, match=f"port {port} is in use; omit --port"):
        listen(port)
    for endpoint in (first, second):
        endpoint.socket.close()


def test_a_port_in_use_and_a_missing_folder_are_errors(
    records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert main(["studio", "--records", str(records), "--port", port, "--no-browser"]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == (
        "",
        f"everlearn: port {port} is in use; omit --port to use a free one\n",
    )
    assert main(["studio", "--records", str(records / "missing"), "--no-browser"]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["studio", "--port", "70000", "--no-browser", "--records", str(records)]) == 2
    assert "port is 70000" in capsys.readouterr().err


def test_create_app_checks_folder_and_token(trained_records: Path) -> None:
    for folder, token in ((trained_records / "missing", "x"), (trained_records, ""), (trained_records, "☃")):
        with pytest.raises(BadInput):
            create_app(folder, token)


def test_a_run_survives_the_death_of_the_server(records: Path) -> None:
    settings = {**SETTINGS, "n_tasks": 60, "evaluation.n_images": 20}
    with everlearn_studio(records) as (process, url), client(url) as own:
        response = own.post("/api/runs", json={"learner": "nearest", "settings": settings})
        folder = records / response.json()["record"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    wait_until((folder / "spec.json").exists)
    wait_until(lambda: Record(folder).is_finished)
    train(RunSpec.make(learner="nearest", settings=settings), records / "other")
    assert Record(folder).digest == Record(records / "other").digest


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_servers_that_are_killed_do_not_affect_a_run_they_watch(records: Path, times: int) -> None:
    spec = RunSpec.make(learner="nearest", settings={**SETTINGS, "n_tasks": 4 * times})
    events = runs.record(spec, records / "watched")

    def run_tasks(n_tasks: int) -> None:
        ends = (event for event in events if event.kind == "task-ended")
        assert len([*itertools.islice(ends, n_tasks)]) == n_tasks

    run_tasks(1)
    for _ in range(times):
        with (
            everlearn_studio(records) as (process, url),
            client(url) as own,
            own.stream("GET", "/api/records/live", params={"record": "watched"}) as response,
        ):
            lines = response.iter_lines()
            next(lines)
            trainer = threading.Thread(target=run_tasks, args=(3,))
            trainer.start()
            next(line for line in lines if line.startswith("data: "))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            trainer.join()
    assert [event.kind for event in events][-1] == "run-ended"
    train(spec, records / "other")
    assert Record(records / "watched").digest == Record(records / "other").digest


def test_200_requests_with_16_connections(shared_studio: Studio) -> None:
    paths = ["/", "/api/records", "/api/sprites/image.png?image_size=32", "/api/records/curves?record=dcl"]
    paths += ["/api/memory?record=dcl", "/api/records/scores?record=nearest", "/api/runs/learner?name=er"]
    paths += ["/static/app.js"]
    with ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(shared_studio.client.get, paths * 25))
    assert [response.status_code for response in responses] == [200] * 200


@pytest.fixture
def many_files() -> Iterator[None]:
    """Allow this process to open many sockets."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[0] < 2 * N_CONNECTIONS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * N_CONNECTIONS, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def raw_request(url: httpx.URL, method: str, path: str, *headers: str) -> bytes:
    token = f"X-Everlearn-Token: {url.params['token']}"
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", token, *headers, "", ""]).encode()


def connect(url: httpx.URL) -> socket.socket:
    return socket.create_connection(("127.0.0.1", url.port), timeout=TIMEOUT)


@pytest.mark.usefixtures("many_files")
def test_1000_open_connections(records: Path) -> None:
    """Idle connections, partial requests and event streams, at a server that starts with a low file limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # inherited by the server
    with everlearn_studio(records) as (process, url), ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        unfinished = (
            b"",
            b"GET /api/records HTTP/1.1\r\nHost: local",
            raw_request(url, "POST", "/api/decode", "Content-Length: 1000") + b"a",
        )
        event_stream = raw_request(url, "GET", "/api/records/live?record=dcl")
        for number in range(N_CONNECTIONS):
            is_stream = number % 40 == 0
            stack.enter_context(connect(url)).sendall(event_stream if is_stream else unfinished[number % 3])
        check_responds(url)
        assert process.poll() is None


def finish_warm_up(url: httpx.URL) -> None:
    """Wait for what the server loads in the background, by requests that need all of it."""
    with client(url) as own:
        for colour in ("#ffffff", "#ff0000"):
            for noise in (0.0, 0.1):
                settings = {"image_size": 16, "colour": colour, "noise": noise}
                image = own.get("/api/sprites/image.png", params=settings).raise_for_status()
        assert own.get("/api/records/curves", params={"record": "nearest"}).status_code == 200
        assert own.post("/api/decode", content=image.content).status_code == 200


def test_unread_responses_do_not_accumulate_in_memory(records: Path) -> None:
    write_long_curve(records / "nearest", 25_000)
    with everlearn_studio(records) as (process, url), ExitStack() as stack:
        check_responds(url)
        finish_warm_up(url)
        server = psutil.Process(process.pid)
        before = server.memory_info().rss
        files = raw_request(url, "GET", "/static/style.css") * N_UNREAD_RESPONSES
        event_stream = raw_request(url, "GET", "/api/records/live?record=nearest")
        for number in range(N_SLOW_READERS):
            connection = stack.enter_context(connect(url))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(files if number % 4 else event_stream)
        for _ in range(5):
            check_responds(url)
        assert server.memory_info().rss - before < MAX_MEMORY_INCREASE
