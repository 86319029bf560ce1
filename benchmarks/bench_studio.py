"""Latency of the studio: list of runs, sliders, concurrent requests, live events, uploads, edits."""

import io
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import numpy as np
import psutil
from PIL import Image

from benchmarks.table import Row
from everlearn import runs

N_RECORDS, N_IMAGES, N_REQUESTS, N_EVENTS = 1000, 200, 200, 300
N_CONNECTIONS, N_CLIENTS, N_EDITS = 16, 8, 500
SETTINGS = {
    "stream.image_size": 32,
    "stream.factor_values": 3,
    "stream.classes_per_task": 5,
    "n_tasks": 4,
}
RECORD_FILES = ("spec.json", "events.jsonl", "scores.jsonl", "seconds.jsonl", "machine.json")
MIXED_PATHS = (
    "/",
    "/static/style.css",
    "/api/records",
    "/api/sprites/image.png",
    "/api/records/curves?record=dcl",
    "/api/memory?record=dcl",
)


def run() -> list[Row]:
    """All results, with a folder of a thousand records."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder)
        _make_records(records)
        with _studio(records) as (client, server):
            return [
                *_list_of_runs(client),
                *_sliders(client),
                *_mixed_requests(client),
                *_live_events(client, records),
                *_long_curves(client, records),
                *_uploads(client, server),
                *_edits(client),
            ]


def _make_records(records: Path) -> None:
    for _ in runs.record(runs.RunSpec.make(learner="dcl", settings=SETTINGS), records / "dcl"):
        pass
    for number in range(1, N_RECORDS):
        copy = records / f"copy-{number:04}"
        copy.mkdir()
        for name in RECORD_FILES:
            shutil.copy(records / "dcl" / name, copy / name)


@contextmanager
def _studio(records: Path) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    options = ["--records", str(records), "--no-browser", "--json"]
    command = [sys.executable, "-P", "-m", "everlearn", "studio", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = httpx.URL(json.loads(process.stdout.readline())["url"])  # type: ignore[union-attr]
        headers = {"x-everlearn-token": url.params["token"]}
        limits = httpx.Limits(max_connections=N_CONNECTIONS)
        base = url.copy_with(query=None)
        try:
            with httpx.Client(base_url=base, headers=headers, limits=limits, timeout=120) as client:
                client.get("/")
                yield client, psutil.Process(process.pid)
        finally:
            process.terminate()


def _list_of_runs(client: httpx.Client) -> Iterator[Row]:
    first = _seconds(lambda: client.get("/api/records").raise_for_status())
    again = [_seconds(lambda: client.get("/api/records")) for _ in range(5)]
    yield Row(f"list of {N_RECORDS:,} records, first request", first, "s", goal=1.0, at_most=True)
    yield Row("list of records, later requests", float(np.median(again)), "s")
    browser = shutil.which("chromium")
    if browser is not None:
        url = f"{client.base_url}?token={client.headers['x-everlearn-token']}"
        yield Row("list of records in Chromium", _page_seconds(browser, url), "s", goal=1.0, at_most=True)


def _page_seconds(browser: str, url: str) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()

        def load() -> None:
            page.goto(url)
            page.locator("#runs tbody tr").first.wait_for()

        seconds = _seconds(load)
        chromium.close()
    return seconds


def _sliders(client: httpx.Client) -> Iterator[Row]:
    def render(number: int) -> float:
        angle = 6.28 * number / N_IMAGES
        return 1000 * _seconds(lambda: client.get(f"/api/sprites/image.png?shape=7&angle={angle}"))

    render(0)
    times = [render(number) for number in range(N_IMAGES)]
    median = float(np.median(times))
    yield Row("slider to image, 256 px", median, "ms", _percentiles(times), goal=50.0, at_most=True)


def _mixed_requests(client: httpx.Client) -> Iterator[Row]:
    paths = [MIXED_PATHS[number % len(MIXED_PATHS)] for number in range(N_REQUESTS)]
    with ThreadPoolExecutor(N_CONNECTIONS) as pool:
        start = time.perf_counter()
        codes = [response.status_code for response in pool.map(client.get, paths)]
        seconds = time.perf_counter() - start
    what = f"{N_REQUESTS} mixed requests, {N_CONNECTIONS} concurrent"
    yield Row(f"{what}: successful", codes.count(200), "", goal=N_REQUESTS)
    yield Row(f"{what}: total time", seconds, "s")


def _live_events(client: httpx.Client, records: Path) -> Iterator[Row]:
    """Sixty events per second, whose loss is the time at which each was written."""
    log = records / "copy-0001" / "events.jsonl"
    log.write_bytes(b"")
    start = time.perf_counter()

    def write_events() -> None:
        with log.open("ab", buffering=0) as file:
            for batch in range(N_EVENTS):
                file.write(_train_step(0, batch, N_EVENTS, time.perf_counter() - start))
                time.sleep(1 / 60)

    writer = threading.Thread(target=write_events)
    writer.start()
    delays: list[float] = []
    with client.stream("GET", "/api/records/live", params={"record": "copy-0001"}) as response:
        for line in response.iter_lines():
            now = time.perf_counter() - start
            message = json.loads(line.removeprefix("data: ")) if line else {}
            delays += [1000 * (now - written) for _, written in message.get("points", {}).get("loss", [])]
            if len(delays) >= N_EVENTS:
                break
    writer.join()
    yield Row(f"{N_EVENTS} events at 60 per second: received", len(delays), "", goal=N_EVENTS)
    yield Row("delay of an event", float(np.median(delays)), "ms", _percentiles(delays))


def _long_curves(client: httpx.Client, records: Path) -> Iterator[Row]:
    """All curves of a run of 5,000 tasks with 25,000 losses, downsampled."""
    steps = [_train_step(task, batch, 5, 1.0) for task in range(5000) for batch in range(5)]
    (records / "copy-0002" / "events.jsonl").write_bytes(b"".join(steps))
    path = "/api/records/curves?record=copy-0002"
    n_bytes = len(client.get(path).content)
    yield Row("curves of 25,000 losses", _seconds(lambda: client.get(path)), "s")
    yield Row("curves of 25,000 losses: response", n_bytes / 1000, "kB")


def _train_step(task: int, batch: int, n_batches: int, loss: float) -> bytes:
    event = {"event": "train-step", "task": task, "epoch": 0, "batch": batch, "n_batches": n_batches}
    return json.dumps({**event, "n_images": 1, "losses": {"loss": loss}}).encode() + b"\n"


def _uploads(client: httpx.Client, server: psutil.Process) -> Iterator[Row]:
    """The most expensive malicious image files that are known."""
    client.post("/api/decode", content=b"x")  # starts the child
    seconds, increases = [], []
    for content in _malicious_files():
        (child,) = [
            each for each in server.children() if "everlearn.studio.image_decoder_child" in each.cmdline()
        ]
        before = child.memory_info().rss
        Path(f"/proc/{child.pid}/clear_refs").write_text("5")  # resets the peak
        seconds.append(_seconds(partial(_check_rejected, client, content)))
        increases.append(_memory_increase(child, before))
    yield Row("rejection of a malicious file: slowest", max(seconds), "s", goal=1.0, at_most=True)
    yield Row("rejection of a malicious file: memory", max(increases) / 1e6, "MB", goal=100.0, at_most=True)


def _check_rejected(client: httpx.Client, content: bytes) -> None:
    assert client.post("/api/decode", content=content).status_code == 400, "a malicious file was accepted"


def _memory_increase(child: psutil.Process, before: int) -> int:
    """Increase of the child's peak memory; 0 if it was killed."""
    try:
        status = Path(f"/proc/{child.pid}/status").read_text()
    except FileNotFoundError:
        return 0
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 - before if "VmHWM:" in status else 0


def _malicious_files() -> Iterator[bytes]:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def png(side: int, *chunks: bytes) -> bytes:
        head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")

    def zeros(n_bytes: int) -> bytes:
        return zlib.compress(bytes(n_bytes), 9)

    yield png(65535, chunk(b"IDAT", zeros(9_000_000)))
    yield png(3900, chunk(b"IDAT", zeros(10)))
    yield png(8, chunk(b"zTXt", b"x\0\0" + zeros(80_000_000)))
    yield bytes(9_000_000)
    file = io.BytesIO()
    Image.new("L", (3900, 3900)).save(file, "JPEG", progressive=True, quality=1)
    jpeg = file.getvalue()
    scan = jpeg.rindex(b"\xff\xda")
    yield jpeg[:scan] + jpeg[scan:-2] * 20_000 + jpeg[-2:]


def _edits(client: httpx.Client) -> Iterator[Row]:
    pixels, query = bytes(4 * 32 * 32), {"record": "dcl", "version": "0"}

    def add_images(_: int) -> int:
        posts = (client.post("/api/memory/add", params=query, content=pixels) for _ in range(N_EDITS))
        return sum(response.is_success for response in posts)

    with ThreadPoolExecutor(N_CLIENTS) as pool:
        start = time.perf_counter()
        done = sum(pool.map(add_images, range(N_CLIENTS)))
        seconds = time.perf_counter() - start
    saving = _seconds(lambda: client.post("/api/memory/save", params={"record": "dcl"}).raise_for_status())
    yield Row(f"edits of {N_CLIENTS} clients: applied", done, "", goal=N_CLIENTS * N_EDITS)
    yield Row("edits per second", done / seconds, "/s")
    yield Row(f"saving {done:,} edits", saving, "s")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _percentiles(times: list[float]) -> tuple[float, float]:
    return float(np.quantile(times, 0.1)), float(np.quantile(times, 0.9))
