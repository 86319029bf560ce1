"""All pages checked by axe-core, if it is there: npm pack axe-core, and EVERLEARN_AXE=path/to/axe.min.js."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from .browser import draw_shape, open_page
from .live_server import Studio, serve_in_thread
from .test_accessibility import STATES, THEMES

AXE = os.environ.get("EVERLEARN_AXE", "")
"""It is not part of this package; developers load it."""
WIDTHS = (1280, 390)

pytestmark = [pytest.mark.more, pytest.mark.skipif(not AXE, reason="EVERLEARN_AXE names no file")]


def _change_a_latent(page: Page) -> None:
    page.locator(".thumbnails img").first.wait_for()
    page.get_by_label("Change").select_option(index=1)
    page.get_by_label("Value", exact=True).wait_for()


def _teach(page: Page) -> None:
    draw_shape(page)
    page.get_by_label("Novelty threshold").fill("0")
    page.get_by_placeholder("class name").fill("kite")
    page.get_by_role("button", name="Add to memory").click()
    page.locator("#taught figure").last.wait_for()


def _open_trash(page: Page) -> None:
    page.get_by_role("button", name="Edit dcl").click()
    page.get_by_role("button", name="Move to the trash").click()
    page.get_by_role("button", name="Trash").click()
    page.locator(".trash li").wait_for()


def _fail(page: Page) -> None:
    page.get_by_role("button", name="New run").click()
    page.get_by_text("Settings of sprites").wait_for()
    page.locator("#setting-seed").fill("-1")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("Not started").wait_for()


OTHER_STATES: dict[str, tuple[str, str, Callable[[Page], None]]] = {
    "vase with a record": ("vase_studio", "vase", _change_a_latent),
    "empty": ("empty_studio", "runs", lambda page: page.get_by_text("about 25 s").first.wait_for()),
    "settings": (
        "shared_studio",
        "glossary?settings=learner&of=dcl&term=learner.width",
        lambda page: page.locator(".wanted").wait_for(),
    ),
    "taught": ("studio", "try?record=dcl", _teach),
    "camera": ("shared_studio", "try", lambda page: page.get_by_role("button", name="Camera").click()),
    "trash": ("studio", "runs", _open_trash),
    "field errors": ("studio", "runs", _fail),
}
"""Pages that need another studio than the read-only one, or take long."""


@pytest.fixture
def empty_studio(tmp_path: Path) -> Iterator[Studio]:
    with serve_in_thread(tmp_path) as studio:
        yield studio


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_no_violations(browser: Browser, shared_studio: Studio, state: str) -> None:
    check(browser, shared_studio, *STATES[state])


@pytest.mark.parametrize("state", OTHER_STATES)
def test_axe_finds_no_violations_in_other_states(
    browser: Browser, request: pytest.FixtureRequest, state: str
) -> None:
    studio, path, prepare = OTHER_STATES[state]
    check(browser, request.getfixturevalue(studio), path, prepare)


def check(browser: Browser, studio: Studio, path: str, prepare: Callable[[Page], None]) -> None:
    """Both themes, wide and narrow."""
    with open_page(browser, studio, f"#/{path}") as page:
        prepare(page)
        page.evaluate(Path(AXE).read_text())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                found = page.evaluate("axe.run()")["violations"]
                nodes = [(each["id"], node["html"][:200]) for each in found for node in each["nodes"]]
                assert nodes == [], f"{theme}, {width} pixels: {json.dumps(nodes, indent=1)}"
