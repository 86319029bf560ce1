"""A real browser, looked for where it may be."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .visits import Studio

PLACES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120_000
"""Milliseconds that a page may take on a machine with much else to do."""
MUST = "EVERLEARN_NEEDS_BROWSER"
"""Set where a missing browser is a failure and not a reason to skip, as in CI."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium; tests are skipped, with a word, where there is none."""
    found = next((path for name in PLACES if (path := shutil.which(name))), None)
    if found is None:
        word = "no Chromium here; install Debian's package chromium to run the browser tests"
        if os.environ.get(MUST):
            pytest.fail(word)
        pytest.skip(word)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: Browser, studio: Studio, path: str = "", *, width: int = 1280, look: str = "light"
) -> Iterator[Page]:
    """A page of a studio that may neither complain nor ask anybody else for anything."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=look)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda word: problems.append(word.text) if word.type == "error" else None)
    page.on("request", lambda asked: problems.append(asked.url) if _is_elsewhere(asked.url, studio) else None)
    page.goto(studio.address + path)
    yield page
    expected = ("status of 4",)  # a refusal that a test provoked
    assert [problem for problem in problems if not any(each in problem for each in expected)] == []
    context.close()


def _is_elsewhere(url: str, studio: Studio) -> bool:
    return not url.startswith((f"http://127.0.0.1:{studio.port}/", "data:", "blob:"))
