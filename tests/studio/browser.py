"""A headless Chromium and pages of a studio in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from .live_server import TIMEOUT, Studio

COMMANDS = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = "EVERLEARN_NEEDS_BROWSER"
"""Environment variable that makes a missing browser a failure, set in CI."""

expect.set_options(timeout=1000 * TIMEOUT)


@contextmanager
def launch_chromium(*arguments: str) -> Iterator[Browser]:
    """A browser; skips the test if Chromium is not installed."""
    found = next((path for name in COMMANDS if (path := shutil.which(name))), None)
    if found is None:
        message = "Chromium is not installed; browser tests need the Debian package chromium"
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", *arguments])
        yield browser
        browser.close()


@contextmanager
def open_page(
    browser: Browser,
    studio: Studio,
    path: str = "",
    *,
    width: int = 1280,
    theme: Literal["light", "dark"] = "light",
) -> Iterator[Page]:
    """A page that must neither log errors nor send requests to other hosts."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, ignore_https_errors=True
    )
    context.set_default_timeout(1000 * TIMEOUT)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    own = (str(studio.client.base_url), "data:", "blob:")
    page.on("request", lambda sent: None if sent.url.startswith(own) else problems.append(sent.url))
    page.goto(studio.url + path)
    yield page
    # Responses with an error status, which tests provoke, are logged too.
    assert [problem for problem in problems if "status of 4" not in problem] == []
    context.close()


def draw_shape(page: Page, selector: str = ".image-canvas") -> None:
    """Draw an outline with the pointer."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    corners = [(0.35, 0.3), (0.65, 0.35), (0.6, 0.7), (0.4, 0.65), (0.35, 0.3)]
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=4)
    page.mouse.up()


def set_slider(page: Page, label: str, value: float) -> None:
    page.get_by_label(label, exact=True).fill(str(value))
