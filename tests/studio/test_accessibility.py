"""All pages and dialogs with screen readers, with the keyboard, on small screens, and in both themes."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from .browser import open_page
from .live_server import Studio

CHECKS = Path(__file__).with_name("accessibility.js").read_text()
THEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
ROLES_WITH_NAMES = (
    "button link textbox searchbox spinbutton slider checkbox radio combobox image img form dialog region"
)


def _open_form(page: Page) -> None:
    page.locator("canvas.matrix").wait_for()
    page.get_by_role("button", name="New run").click()
    page.get_by_text("Settings of dcl").click()
    page.get_by_text("Settings of sprites").wait_for()
    page.get_by_text("Other settings").click()


def _open_add_dialog(page: Page) -> None:
    page.locator(".gallery img").first.wait_for()
    page.get_by_role("button", name="Add a class").click()


def _recognize(page: Page) -> None:
    page.get_by_role("button", name="Random exemplar").click()
    page.locator(".prediction").wait_for()


STATES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "runs": ("runs", lambda page: page.locator("canvas.matrix").wait_for()),
    "new run": ("runs", _open_form),
    "sprites": ("sprites", lambda page: page.get_by_text("Nuisances").click()),
    "memory": ("memory", lambda page: page.locator(".gallery img").first.wait_for()),
    "add": ("memory", _open_add_dialog),
    "forget": ("memory", lambda page: page.get_by_role("button", name="Forget class 2").click()),
    "try": ("try", _recognize),
    "watch": ("watch", lambda page: page.locator(".tasks img").first.wait_for()),
    "leaderboard": ("leaderboard", lambda page: page.locator(".empty").wait_for()),
    "glossary": ("glossary", lambda page: page.locator("dt").first.wait_for()),
    "edit": ("runs", lambda page: page.get_by_role("button", name="Edit dcl").click()),
    "vase": ("vase", lambda page: page.locator(".empty").wait_for()),
}
"""Pages and what is opened on them."""


def unnamed_elements(page: Page) -> list[str]:
    """Nodes of the accessibility tree that need a name and have none."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    roles = ROLES_WITH_NAMES.split()
    nodes = [node for node in tree["nodes"] if not node["ignored"] and node["role"]["value"] in roles]
    assert len(nodes) > 3
    return [str(node) for node in nodes if not node.get("name", {}).get("value", "").strip()]


def test_the_checks_detect_problems(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/vase") as page:
        page.evaluate(CHECKS)
        added = '<p id="gray">gray on white</p><button></button>'
        page.locator("body").evaluate("(body, added) => body.insertAdjacentHTML('beforeend', added)", added)
        page.locator("#gray").evaluate("p => p.style.color = 'rgb(160, 160, 160)'")
        assert page.evaluate("lowContrast()") == ["2.61: gray on white"]
        assert len(unnamed_elements(page)) == 1


@pytest.mark.parametrize("state", STATES)
def test_names_contrast_and_width(browser: Browser, shared_studio: Studio, state: str) -> None:
    path, prepare = STATES[state]
    with open_page(browser, shared_studio, f"#/{path}", width=390) as page:
        prepare(page)
        page.evaluate(CHECKS)
        assert unnamed_elements(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            assert page.evaluate("lowContrast()") == []


@pytest.mark.parametrize("state", STATES)
def test_all_controls_are_reached_by_tab_and_show_focus(
    browser: Browser, shared_studio: Studio, state: str
) -> None:
    path, prepare = STATES[state]
    with open_page(browser, shared_studio, f"#/{path}") as page:
        prepare(page)
        page.evaluate(CHECKS)
        for _ in range(2 * page.evaluate("focusable().length") + 10):
            page.keyboard.press("Tab")
            page.evaluate("noteFocus()")
            if not (missing := page.evaluate("notReached()")):
                break
        assert missing == []


def test_the_skip_link_does_not_change_the_page(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/sprites") as page:
        expect(page.locator("h1")).to_have_text("Sprites")
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        expect(page.locator("h1")).to_have_text("Sprites")


def test_the_theme_follows_the_system_until_it_is_selected(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/sprites", theme="dark") as page:
        html = page.locator("html")
        expect(html).to_have_css("background-color", "rgb(20, 23, 28)")
        page.get_by_role("radio", name="light").check()
        expect(html).to_have_css("background-color", "rgb(255, 255, 255)")


def test_focus_is_kept_when_the_gallery_is_edited(browser: Browser, studio: Studio) -> None:
    with open_page(browser, studio, "#/memory?record=dcl") as page:
        page.get_by_role("button", name="Rename class 1").press("Enter")
        page.keyboard.type("kite")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Rename kite")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name="Forget kite?")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Undo")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Rename kite")).to_be_visible()
