"""Screenshots of all studio pages for docs/studio.md: python -m benchmarks.studio_screenshots [RECORDS].

Trains the records on the first call (about 3 minutes on one core) and reuses them later.

python -m benchmarks.studio_screenshots RECORDS OUTPUT [NAME...] writes every page and dialog, or those named,
on wide and narrow screens, light and dark, to the folder OUTPUT, for review. It shows the records that
RECORDS has, such as quick-look and my-photos.
"""

import itertools
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

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
SETTLE_MS = 1000
"""Time for plots and images to appear; a page with live plots always has an open request."""
WIDTHS = (1400, 820, 390)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def main(folder: Path, output: Path | None = None, *names: str) -> None:
    """Train missing records and write the screenshots of the documentation, or all of them to a folder."""
    if output is None:
        train(folder)
    endpoint = listen()
    server = Server(create_app(folder, endpoint.token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]})
    thread.start()
    try:
        if output is None:
            take_screenshots(endpoint.url)
        else:
            review(endpoint.url, output, names or tuple(STATES))
    finally:
        server.should_exit = True
        thread.join()


def train(folder: Path) -> None:
    """Train missing records."""
    for name, (learner, stream, settings) in RECORDS.items():
        record = folder / _folder(name)
        if not record.exists():
            spec = runs.RunSpec.make(learner=learner, stream=stream, settings=settings)
            for _ in runs.record(spec, record, name=name):
                pass


def _folder(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


def take_screenshots(url: str) -> None:
    with chromium() as browser:
        for name, prepare in PAGES.items():
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.set_default_timeout(TIMEOUT_MS)
            page.goto(f"{url}#/{name}")
            prepare(page)
            page.screenshot(path=IMAGES / f"studio-{name}.png")
            page.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def review(url: str, output: Path, names: Sequence[str]) -> None:
    """Write pages and dialogs of `STATES` in each width and theme."""
    output.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name in names:
            path, prepare = STATES[name]
            for width, theme in itertools.product(WIDTHS, THEMES):
                size = ViewportSize(width=width, height=900)
                page = browser.new_page(viewport=size, color_scheme=theme)
                page.set_default_timeout(TIMEOUT_MS)
                page.goto(f"{url}#/{path}")
                prepare(page)
                page.wait_for_timeout(SETTLE_MS)
                whole = not page.get_by_role("dialog").count()
                page.screenshot(path=output / f"{name}-{width}-{theme}.png", full_page=whole)
                page.close()


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


def _all_runs(page: Page) -> None:
    boxes = page.locator("#runs tbody input")
    boxes.first.wait_for()
    for index in range(boxes.count()):
        boxes.nth(index).check()
    page.locator("#leaderboard tbody tr").first.wait_for()


def _new_run(page: Page) -> None:
    page.get_by_role("button", name="New run").click()
    page.get_by_text("Settings of dcl").click()
    page.get_by_text("Settings of sprites").click()
    page.locator("#setting-seed").fill("-1")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("Not started").wait_for()


def _teach(page: Page) -> None:
    page.locator(".image-canvas").wait_for()
    box = page.locator(".image-canvas").bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
    corners = [(0.35, 0.3), (0.65, 0.35), (0.6, 0.7), (0.4, 0.65), (0.35, 0.3)]
    for number, (x, y) in enumerate(corners):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
        if not number:
            page.mouse.down()
    page.mouse.up()
    page.locator(".prediction").wait_for()


def _try_exemplar(page: Page) -> None:
    page.get_by_role("button", name="Random exemplar").click()
    page.locator(".prediction").wait_for()
    with page.expect_response(re.compile("recognition")):
        page.get_by_label("Angle", exact=True).fill("0.6")


def _watch(page: Page) -> None:
    page.locator(".tasks img").first.wait_for()
    page.get_by_label("After task").press("End")


def _latent(page: Page) -> None:
    page.locator(".traversals img").first.wait_for()
    page.get_by_label("Change").select_option(index=1)
    page.get_by_label("Value", exact=True).fill("2")


def _click(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=name).first.click()


def _see(selector: str) -> Callable[[Page], None]:
    return lambda page: page.locator(selector).first.wait_for()


STATES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "runs": ("runs", _see("#runs tbody input")),
    "compare": ("runs", _all_runs),
    "new-run": ("runs", _new_run),
    "edit": ("runs", _click("Edit")),
    "open": ("runs", _click("Open another folder")),
    "trash": ("runs", _click("Trash")),
    "watch": ("watch", _watch),
    "sprites": ("sprites", _sprites),
    "memory": ("memory?record=quick-look", _memory),
    "memory-photos": ("memory?record=my-photos", _memory),
    "try-photos": ("try?record=my-photos", _try_exemplar),
    "add": ("memory", _click("Add a class")),
    "forget": ("memory", _click("Forget")),
    "try": ("try?record=quick-look", _try_exemplar),
    "teach": ("try?record=quick-look", _teach),
    "vase": ("vase", _latent),
    "glossary": ("glossary", _see("dt")),
}
"""Pages, and what is opened on them."""


if __name__ == "__main__":
    records = Path(sys.argv[1] if len(sys.argv) > 1 else "records/screenshots")
    main(records, Path(sys.argv[2]) if len(sys.argv) > 2 else None, *sys.argv[3:])
