"""The list of many records: python -m benchmarks.studio_list RECORD [N].

Copies a record N times (default: 10,000) as links and measures the list in a server and in Chromium.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from everlearn.studio.record_index import RecordIndex
from everlearn.studio.server import Server, create_app, listen

LOGS = ("spec.json", "events.jsonl", "scores.jsonl", "seconds.jsonl")


def main(record: Path, n_records: int) -> None:
    """Print what each step took, as CPU and wall time."""
    with tempfile.TemporaryDirectory(dir=record.parent.parent) as folder:
        root = Path(folder)
        for number in range(n_records):
            copy = root / f"run-{number:05}"
            copy.mkdir()
            for name in LOGS:
                os.link(record / name, copy / name)
        index = RecordIndex(root)
        measure(f"first list of {n_records:,} records", index.summaries)
        measure("list again", index.summaries)
        measure_page(root)


def measure(name: str, step: Callable[[], object]) -> None:
    """Call a function and print its time."""
    cpu, wall = time.process_time(), time.perf_counter()
    step()
    print(f"{name}: {time.process_time() - cpu:.2f} s CPU, {time.perf_counter() - wall:.2f} s")


expect.set_options(timeout=60_000)


def measure_page(root: Path) -> None:
    """Open the page, filter and show more, in a server that has read the records once."""
    endpoint = listen()
    app = create_app(root, endpoint.token)
    app.state.dependencies.records.summaries()
    server = Server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]}, daemon=True)
    thread.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        rows = page.locator("#runs tbody tr")
        page.goto(endpoint.url, wait_until="commit")
        measure("page to first rows", lambda: expect(rows).to_have_count(100))
        page.evaluate(LONG_TASKS)
        page.get_by_label("Filter by").fill("09876")
        measure("filter to one row", lambda: expect(rows).to_have_count(1))
        page.get_by_label("Filter by").fill("")
        measure("back to 100 rows", lambda: expect(rows).to_have_count(100))
        page.get_by_role("button", name="Show more").click()
        measure("100 more rows", lambda: expect(rows).to_have_count(200))
        print(f"longest time without a response of the page: {page.evaluate('longest'):.0f} ms")
        browser.close()
    server.should_exit = True
    thread.join()


LONG_TASKS = """() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  }).observe({ type: "longtask" });
}"""


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
