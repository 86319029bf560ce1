"""Pages for everybody: names for screen readers, contrast for tired eyes, keys instead of a mouse."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from .browsing import chromium, visit
from .visits import Studio, serving

CHECKS = Path(__file__).with_name("access.js").read_text()
LOOKS: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
NAMED = "button link textbox searchbox spinbutton slider checkbox radio combobox image img form dialog region"
"""Roles that mean nothing to a listener without a name."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def shared(kept: Path) -> Iterator[Studio]:
    """One studio for all that only look."""
    with serving(kept) as studio:
        yield studio


def _form(page: Page) -> None:
    page.get_by_role("button", name="New run").click()
    page.get_by_text("Settings of dcl").click()
    page.get_by_text("Everything else").click()


def _adding(page: Page) -> None:
    page.locator(".wall img").first.wait_for()
    page.get_by_role("button", name="Add a class").click()


def _forgetting(page: Page) -> None:
    page.get_by_role("button", name="Forget class 2").click()


def _answered(page: Page) -> None:
    page.get_by_role("button", name="A shape it knows").click()
    page.locator(".verdict").wait_for()


STATES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "runs": ("runs", lambda page: page.locator("canvas.heat").wait_for()),
    "a new run": ("runs", _form),
    "sprites": ("sprites", lambda page: page.get_by_text("Make it harder").click()),
    "memory": ("memory", lambda page: page.locator(".wall img").first.wait_for()),
    "adding": ("memory", _adding),
    "forgetting": ("memory", _forgetting),
    "try": ("try", _answered),
    "vase": ("vase", lambda page: page.locator(".empty").wait_for()),
}
"""Pages, and what opens on them."""


def nameless(page: Page) -> list[str]:
    """What the browser itself tells a screen reader of, without a name."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    told = [node for node in tree["nodes"] if not node["ignored"] and node["role"]["value"] in NAMED.split()]
    assert len(told) > 3, "the browser tells of hardly anything"
    return [str(node) for node in told if not node.get("name", {}).get("value", "").strip()]


def test_the_checks_can_fail(browser: Browser, shared: Studio) -> None:
    with visit(browser, shared, "#/vase") as page:
        page.evaluate(CHECKS)
        page.locator("body").evaluate(  # which is not drawn anew, as all inside it may be
            """it => it.insertAdjacentHTML('beforeend', '<p id="pale">gray on white</p><button></button>')"""
        )
        page.locator("#pale").evaluate("p => p.style.color = 'rgb(160, 160, 160)'")
        assert page.evaluate("pale()") == ["2.61: gray on white"]
        assert len(nameless(page)) == 1


@pytest.mark.parametrize("state", STATES)
def test_everything_has_a_name_and_can_be_read(browser: Browser, shared: Studio, state: str) -> None:
    path, prepare = STATES[state]
    with visit(browser, shared, f"#/{path}", width=390) as page:
        prepare(page)
        page.evaluate(CHECKS)
        assert nameless(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for look in LOOKS:
            page.emulate_media(color_scheme=look)
            assert page.evaluate("pale()") == []


@pytest.mark.parametrize("state", STATES)
def test_keys_reach_everything_and_show_where_they_are(browser: Browser, shared: Studio, state: str) -> None:
    path, prepare = STATES[state]
    with visit(browser, shared, f"#/{path}") as page:
        prepare(page)
        page.evaluate(CHECKS)
        for _ in range(2 * page.evaluate("reachable().length") + 10):  # twice round, if need be
            page.keyboard.press("Tab")
            page.evaluate("look()")
            if not (missed := page.evaluate("missed()")):
                break
        assert missed == []


def test_the_way_past_the_links_leads_to_the_same_page(browser: Browser, shared: Studio) -> None:
    with visit(browser, shared, "#/sprites") as page:
        expect(page.locator("h1")).to_have_text("Sprites")
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        expect(page.locator("h1")).to_have_text("Sprites")


def test_the_focus_stays_with_whoever_edits_by_keys(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio, "#/memory?record=dcl") as page:
        page.get_by_role("button", name="Rename class 1").press("Enter")
        page.keyboard.type("kite")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Rename kite")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name="Forget kite?")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Undo the last")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Rename kite")).to_be_visible()
