"""Screenshots of all studio pages for docs/studio.md: python -m benchmarks.studio_screenshots [RECORDS].

Trains the records on the first call (about 3 minutes on one core) and reuses them later.
"""

import re
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from everlearn import runs
from everlearn.studio.presets import PRESETS
from everlearn.studio.server import Server, create_app, listen

SPRITES: dict[str, Any] = {"stream.image_size": 32, "n_tasks": 10}
RECORDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "environments": ("vase", "environments", PRESETS["vase"].settings),
    "naive": ("naive", "sprites", SPRITES),
    "replay of 500 images": ("er", "sprites", {**SPRITES, "learner.memory_size": 500}),
    "replay of 5,000 images": ("er", "sprites", {**SPRITES, "learner.memory_size": 5000}),
    "dcl": ("dcl", "sprites", SPRITES),
}
"""Learner, stream and settings by name."""
IMAGES = Path(__file__).parent.parent / "docs" / "images"
SIZE = ViewportSize(width=1280, height=900)
TIMEOUT_MS = 120_000


def main(folder: Path) -> None:
    """Train missing records and write all screenshots."""
    for name, (learner, stream, settings) in RECORDS.items():
        record = folder / _folder(name)
        if not record.exists():
            spec = runs.RunSpec.make(learner=learner, stream=stream, settings=settings)
            for _ in runs.record(spec, record, name=name):
                pass
    endpoint = listen()
    server = Server(create_app(folder, endpoint.token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]})
    thread.start()
    try:
        take_screenshots(endpoint.url)
    finally:
        server.should_exit = True
        thread.join()


def _folder(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


def take_screenshots(url: str) -> None:
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, prepare in PAGES.items():
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.set_default_timeout(TIMEOUT_MS)
            page.goto(f"{url}#/{name}")
            prepare(page)
            page.screenshot(path=IMAGES / f"studio-{name}.png")
            page.close()
        browser.close()


def _runs(page: Page) -> None:
    page.locator("#runs tbody input").first.wait_for()
    names = [name for name, (_, stream, _) in RECORDS.items() if stream == "sprites"]
    for name in names:
        page.get_by_label(f"Plot {_folder(name)}", exact=True).check()
    n_points = len(names) * SPRITES["n_tasks"]
    expect(page.locator("#chart-bytes")).to_have_attribute("data-points", str(n_points))


def _sprites(page: Page) -> None:
    page.get_by_label("Angle", exact=True).fill("0.6")
    page.get_by_label("Colour").fill("#ffb000")
    page.get_by_role("button", name="Contact sheet").click()
    expect(page.locator("#code")).to_contain_text("colour=")
    for image in (page.locator("#sprite"), page.locator(".sheet")):
        expect(image).to_have_attribute("src", re.compile("ffb000"))
        image.evaluate("image => image.decode()")


def _memory(page: Page) -> None:
    page.locator(".gallery img").first.wait_for()
    visible = "images => images.filter(image => image.getBoundingClientRect().top < innerHeight)"
    page.locator(".gallery img").evaluate_all(
        f"images => Promise.all(({visible})(images).map(i => i.decode()))"
    )


def _try(page: Page) -> None:
    page.get_by_role("button", name="Random exemplar").click()
    page.locator(".prediction").wait_for()
    page.get_by_label("Scale", exact=True).fill("0.7")
    with page.expect_response(re.compile("recognition")):
        page.get_by_label("Angle", exact=True).fill("2.1")
    expect(page.locator("#answer")).to_contain_text("scale 0.7")


def _vase(page: Page) -> None:
    page.locator(".traversals img").first.wait_for()
    page.get_by_label("Task", exact=True).select_option("1")
    page.get_by_role("heading", name="Reconstruction in").evaluate("heading => heading.scrollIntoView()")
    page.wait_for_load_state("networkidle")


PAGES: dict[str, Callable[[Page], None]] = {
    "runs": _runs,
    "sprites": _sprites,
    "memory": _memory,
    "try": _try,
    "vase": _vase,
}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "records/screenshots"))
