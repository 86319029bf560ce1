"""How long the studio lets people wait: first view, sliders, many at once, live events, edits."""

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

N_RECORDS, N_PICTURES, N_REQUESTS, N_EVENTS = 1000, 200, 200, 300
AT_ONCE, CLIENTS, EDITS = 16, 8, 500
SETTINGS = {
    "stream.image_size": 32,
    "stream.factor_values": 3,
    "stream.classes_per_task": 5,
    "n_tasks": 4,
}
TEXTS = ("spec.json", "events.jsonl", "scores.jsonl", "seconds.jsonl", "machine.json")
MIXED = (
    "/",
    "/static/style.css",
    "/api/records",
    "/api/sprites/image.png",
    "/api/records/curves?record=dcl",
    "/api/memory?record=dcl",
)


def run() -> list[Row]:
    """All figures, over a folder of a thousand records."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder)
        _fill(records)
        with _studio(records) as (client, server):
            return [
                *_first_view(client),
                *_sliders(client),
                *_mixed(client),
                *_live(client, records),
                *_long_curves(client, records),
                *_uploads(client, server),
                *_edits(client),
            ]


def _fill(records: Path) -> None:
    spec = runs.RunSpec.make(learner="dcl", settings=SETTINGS)
    for _ in runs.record(spec, records / "dcl"):
        pass
    for number in range(1, N_RECORDS):
        copy = records / f"copy-{number:04}"
        copy.mkdir()
        for name in TEXTS:
            shutil.copy(records / "dcl" / name, copy / name)


@contextmanager
def _studio(records: Path) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "everlearn",
        "studio",
        "--records",
        str(records),
        "--no-browser",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = httpx.URL(json.loads(process.stdout.readline())["address"])  # type: ignore[union-attr]
        headers = {"x-everlearn-token": address.params["token"]}
        limits = httpx.Limits(max_connections=AT_ONCE)
        try:
            with httpx.Client(
                base_url=address.copy_with(query=None), headers=headers, limits=limits, timeout=120
            ) as client:
                client.get("/")
                yield client, psutil.Process(process.pid)
        finally:
            process.terminate()


def _first_view(client: httpx.Client) -> Iterator[Row]:
    """The list cold, the list again, and the page in a browser if there is one."""
    first = _seconds(lambda: client.get("/api/records").raise_for_status())
    again = [_seconds(lambda: client.get("/api/records")) for _ in range(5)]
    yield Row(f"list of {N_RECORDS:,} records, first time", first, "s", goal=1.0, at_most=True)
    yield Row("the same again", float(np.median(again)), "s")
    browser = shutil.which("chromium")
    if browser is not None:
        shown = _shown(browser, f"{client.base_url}?token={client.headers['x-everlearn-token']}")
        yield Row("first view in Chromium, with rows", shown, "s", goal=1.0, at_most=True)


def _shown(browser: str, address: str) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()

        def look() -> None:
            page.goto(address)
            page.locator("tbody tr").first.wait_for()

        seconds = _seconds(look)
        chromium.close()
    return seconds


def _sliders(client: httpx.Client) -> Iterator[Row]:
    def draw(number: int) -> float:
        angle = 6.28 * number / N_PICTURES
        return 1000 * _seconds(lambda: client.get(f"/api/sprites/image.png?shape=7&angle={angle}"))

    draw(0)
    times = [draw(number) for number in range(N_PICTURES)]
    yield Row(
        "slider to image, 256 px", float(np.median(times)), "ms", _tenths(times), goal=50.0, at_most=True
    )


def _mixed(client: httpx.Client) -> Iterator[Row]:
    asked = [MIXED[number % len(MIXED)] for number in range(N_REQUESTS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        start = time.perf_counter()
        codes = [answer.status_code for answer in pool.map(client.get, asked)]
        seconds = time.perf_counter() - start
    yield Row(
        f"of {N_REQUESTS} mixed requests, {AT_ONCE} at a time, answered",
        codes.count(200),
        "",
        goal=N_REQUESTS,
    )
    yield Row("the same, in all", seconds, "s")


def _live(client: httpx.Client, records: Path) -> Iterator[Row]:
    """Sixty events a second, each told with the moment at which it was written."""
    log = records / "copy-0001" / "events.jsonl"
    log.write_bytes(b"")
    start = time.perf_counter()

    def play() -> None:
        with log.open("ab", buffering=0) as file:
            for batch in range(N_EVENTS):
                told = {"event": "learned", "task": 0, "epoch": 0, "batch": batch, "n_batches": N_EVENTS}
                line = {**told, "n_images": 1, "losses": {"loss": time.perf_counter() - start}}
                file.write(json.dumps(line).encode() + b"\n")
                time.sleep(1 / 60)

    player = threading.Thread(target=play)
    player.start()
    delays: list[float] = []
    with client.stream("GET", "/api/records/live", params={"record": "copy-0001"}) as answer:
        for line in answer.iter_lines():
            now = time.perf_counter() - start
            message = json.loads(line.removeprefix("data: ")) if line else {}
            delays += [1000 * (now - written) for _, written in message.get("points", {}).get("loss", [])]
            if len(delays) >= N_EVENTS:
                break
    player.join()
    yield Row(f"of {N_EVENTS} events at 60 a second, told", len(delays), "", goal=N_EVENTS)
    yield Row("written to told", float(np.median(delays)), "ms", _tenths(delays))


def _long_curves(client: httpx.Client, records: Path) -> Iterator[Row]:
    """All curves of a run of 5,000 tasks with 25,000 losses, thinned to what a screen shows."""
    lines = [
        {
            "event": "learned",
            "task": task,
            "epoch": 0,
            "batch": batch,
            "n_batches": 5,
            "losses": {"loss": 1.0},
        }
        for task in range(5000)
        for batch in range(5)
    ]
    (records / "copy-0002" / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    address = "/api/records/curves?record=copy-0002"
    size = len(client.get(address).content)
    yield Row("curves of 25,000 losses", _seconds(lambda: client.get(address)), "s")
    yield Row("the same, sent", size / 1000, "kB")


def _uploads(client: httpx.Client, server: psutil.Process) -> Iterator[Row]:
    """Image files made to harm, the worst we know: by the clock, and the child's highest memory."""
    client.post("/api/image", content=b"x")  # the child is awake
    seconds, rises = [], []
    for content in _bombs():
        (child,) = [
            each for each in server.children() if "everlearn.studio.image_decoder_child" in each.cmdline()
        ]
        before = child.memory_info().rss
        Path(f"/proc/{child.pid}/clear_refs").write_text("5")  # forget the highest so far
        seconds.append(_seconds(partial(_refused, client, content)))
        rises.append(_highest(child, before))
    yield Row("slowest refusal of a hostile file", max(seconds), "s", goal=1.0, at_most=True)
    yield Row("most memory for one", max(rises) / 1e6, "MB", goal=100.0, at_most=True)


def _refused(client: httpx.Client, content: bytes) -> None:
    assert client.post("/api/image", content=content).status_code == 400, "a file made to harm was taken"


def _highest(child: psutil.Process, before: int) -> int:
    """How far the memory of the child rose; nothing if the file cost it its life."""
    try:
        status = Path(f"/proc/{child.pid}/status").read_text()
    except FileNotFoundError:
        return 0
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 - before if "VmHWM:" in status else 0


def _bombs() -> Iterator[bytes]:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def png(side: int, *chunks: bytes) -> bytes:
        head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")

    def packed(n_bytes: int) -> bytes:
        return zlib.compress(bytes(n_bytes), 9)

    yield png(65535, chunk(b"IDAT", packed(9_000_000)))
    yield png(3900, chunk(b"IDAT", packed(10)))
    yield png(8, chunk(b"zTXt", b"x\0\0" + packed(80_000_000)))
    yield bytes(9_000_000)
    file = io.BytesIO()
    Image.new("L", (3900, 3900)).save(file, "JPEG", progressive=True, quality=1)
    whole = file.getvalue()
    scan = whole.rindex(b"\xff\xda")
    yield whole[:scan] + whole[scan:-2] * 20_000 + whole[-2:]


def _edits(client: httpx.Client) -> Iterator[Row]:
    canvas = bytes(4 * 32 * 32)

    def visit(_: int) -> int:
        query: dict[str, str | int] = {"record": "dcl", "seen": 0}
        return sum(
            client.post("/api/memory/add", params=query, content=canvas).is_success for _ in range(EDITS)
        )

    with ThreadPoolExecutor(CLIENTS) as pool:
        start = time.perf_counter()
        done = sum(pool.map(visit, range(CLIENTS)))
        seconds = time.perf_counter() - start
    saving = _seconds(lambda: client.post("/api/memory/save", params={"record": "dcl"}).raise_for_status())
    yield Row(f"edits from {CLIENTS} clients, taken", done, "", goal=CLIENTS * EDITS)
    yield Row("edits a second", done / seconds, "/s")
    yield Row(f"saving {done:,} edits", saving, "s")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _tenths(times: list[float]) -> tuple[float, float]:
    return float(np.quantile(times, 0.1)), float(np.quantile(times, 0.9))
