"""Every page, as a person meets it."""

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from everlearn.evaluation.protocols import editable_memory
from everlearn.files import lock_holder
from everlearn.runs import Record

from .browsing import PATIENCE, chromium, visit
from .test_drafts import saved
from .test_records import learned
from .test_runs import until
from .test_thinning import spiky
from .visits import Studio, serving

PAGES = ("runs", "sprites", "memory", "try", "vase")
SCREENSHOTS = "EVERLEARN_SCREENSHOTS"
"""A folder to put the screenshots of the documentation in."""
SHOWN = "EVERLEARN_SHOWN_RECORDS"
"""The records to show on them, instead of those of the tests."""

NAMELESS = """() => [
    ...document.querySelectorAll('main :is(input, select, button, img, canvas[tabindex])')
].filter(e => !e.hidden && !e.classList.contains('unseen'))
 .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.alt || e.textContent.trim()))
 .map(e => e.outerHTML)"""

SEEN = """[...document.querySelectorAll('.wall img')]
    .filter(image => image.getBoundingClientRect().top < innerHeight)
    .every(image => image.naturalWidth)"""
"""Whether every image in view is there."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def draw(page: Page, selector: str = ".pad") -> None:
    """Draw a shape with the pointer."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    corners = [(0.35, 0.3), (0.65, 0.35), (0.6, 0.7), (0.4, 0.65), (0.35, 0.3)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def slide(page: Page, label: str, value: float) -> None:
    page.get_by_label(label, exact=True).fill(str(value))


def test_sprites_follow_the_sliders(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio, "#/sprites") as page:
        image = page.locator("#sprite")
        expect(image).to_have_js_property("naturalWidth", 256)
        before = image.get_attribute("src")
        slide(page, "Angle", 1.5)
        slide(page, "Difficulty", 0.5)
        expect(page.locator("#code")).to_contain_text("Factors(angle=1.5)")
        expect(page.locator("#code")).to_contain_text("ShapeFamily(difficulty=0.5).outline(7)")
        assert image.get_attribute("src") != before
        page.get_by_role("button", name="Next shape").click()
        expect(page.get_by_label("Shape", exact=True)).to_have_value("8")
        expect(page.get_by_role("link", name="Download PNG")).to_have_attribute("download", "shape-8.png")
        page.get_by_role("button", name="Sheet of 64").click()
        sheet = page.get_by_alt_text("Sheet of 64")
        expect(sheet).to_have_js_property("complete", True)
        until(lambda: sheet.evaluate("image => image.naturalWidth") > 500)
        sheet.click(position={"x": 130, "y": 30})
        expect(page.get_by_label("Shape", exact=True)).not_to_have_value("8")


def test_runs_are_listed_filtered_and_laid_over_one_another(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio) as page:
        expect(page.locator("tbody tr")).to_have_count(2)
        page.get_by_label("Show dcl").check()
        page.get_by_label("Show nearest").check()
        expect(page.locator("#chart-accuracy")).to_have_attribute("data-points", "4")
        expect(page.locator("canvas.heat")).to_be_visible()
        page.locator("#chart-accuracy").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#chart-accuracy")).to_have_attribute("aria-label", re.compile("after 1 tasks"))
        page.get_by_label("Filter by").fill("nearest")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator(".legend li")).to_have_count(2)


def test_what_is_shown_is_what_is_saved(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio, "#/runs?record=dcl&record=nearest", look="dark") as page:
        page.locator("canvas.heat").wait_for()
        for title in ("Accuracy on all tasks seen", "Forgetting", "Loss", "Bytes held", "Score table"):
            for ending in ("SVG", "PNG", "CSV"):
                with page.expect_download() as download:
                    page.get_by_label(f"Save {title} as {ending}").click()
                assert download.value.suggested_filename.endswith(ending.lower())
                assert "token" in download.value.url
        with page.expect_download() as download:
            page.locator("#every-curve").click()
        assert "dcl,,loss," in Path(download.value.path()).read_text()


def test_a_zoom_shows_every_point_and_back(browser: Browser, studio: Studio, records: Path) -> None:
    spiky(records / "nearest", 25_000)
    with visit(browser, studio, "#/runs?record=nearest") as page:
        chart = page.locator("#chart-loss")
        until(lambda: 1000 < int(chart.get_attribute("data-points") or 0) < 2100)
        chart.focus()
        for _ in range(4):
            page.keyboard.press("+")
        until(lambda: int(chart.get_attribute("data-points") or 0) == pytest.approx(25_000 / 16, abs=20))
        with page.expect_download() as download:
            page.get_by_label("Save Loss as SVG").click()
        assert "low=0.46875&high=0.53125" in download.value.url
        page.get_by_role("button", name="Show all of Loss").click()
        until(lambda: int(chart.get_attribute("data-points") or 0) < 2100)
        expect(page.get_by_role("button", name="Show all of Loss")).to_be_hidden()


def test_live_curves_hold_sixty_events_a_second(browser: Browser, studio: Studio, records: Path) -> None:
    log, n_events = records / "nearest" / "events.jsonl", 120
    log.write_bytes(learned(0))

    def play() -> None:
        with log.open("ab", buffering=0) as file:
            for batch in range(1, n_events):
                file.write(learned(batch))
                time.sleep(1 / 60)

    with visit(browser, studio, "#/runs?record=nearest") as page:
        expect(page.locator("#chart-loss")).to_have_attribute("data-points", "1")
        player = threading.Thread(target=play)
        player.start()
        expect(page.locator("#chart-loss")).to_have_attribute("data-points", str(n_events))
        player.join()


def test_a_run_is_started_and_stopped_from_the_page(browser: Browser, studio: Studio, records: Path) -> None:
    with visit(browser, studio) as page:
        page.get_by_role("button", name="New run").click()
        form = page.get_by_role("form", name="New run")
        form.get_by_label("Learner", exact=True).select_option("nearest")
        expect(form).to_contain_text("average image is nearest")
        form.get_by_text("Settings of sprites").click()
        form.get_by_label("image size", exact=True).fill("16")
        form.get_by_label("factor values", exact=True).fill("2")
        form.get_by_label("split", exact=True).fill("8,3,3")
        form.get_by_label("n tasks", exact=True).first.fill("5000")
        form.get_by_label("Name (if you like)").fill("from the page")
        form.get_by_role("button", name="Start").click()
        expect(page.locator("tbody")).to_contain_text("from the page")
        (folder,) = records.glob("from-the-page-*")
        until(lambda: Record(folder).n_tasks_played > 0)
        page.get_by_role("button", name="Stop from-the-page").click()
        until(lambda: lock_holder(folder) is None)
        expect(page.get_by_role("button", name="Resume from-the-page")).to_be_visible()
        assert json.loads((folder / "spec.json").read_text())["stream"]["split"] == [8, 3, 3]


def test_a_refusal_is_shown_in_words(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio) as page:
        page.get_by_role("button", name="New run").click()
        page.get_by_label("epochs", exact=True).fill("0")
        page.get_by_label("epochs", exact=True).evaluate("input => input.removeAttribute('min')")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("alert").filter(has_text="Epochs is 0")).to_be_visible()


def test_memory_is_edited_undone_and_saved(browser: Browser, studio: Studio, records: Path) -> None:
    with visit(browser, studio, "#/memory?record=dcl") as page:
        expect(page.locator(".wall li")).to_have_count(6)
        page.get_by_role("button", name="Forget class 2").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        expect(page.locator(".wall li")).to_have_count(5)
        page.get_by_role("button", name="Undo the last").click()
        expect(page.locator(".wall li")).to_have_count(6)
        page.get_by_role("button", name="Rename class 1").click()
        page.get_by_role("dialog").get_by_role("textbox").fill("<img src=x onerror=alert(1)>")
        page.get_by_role("dialog").get_by_role("button", name="OK").click()
        expect(page.locator(".wall")).to_contain_text("<img src=x onerror=alert(1)>")
        page.get_by_role("button", name="Add a class").click()
        draw(page, "dialog .pad")
        page.get_by_role("dialog").get_by_label("Name").fill("kite")
        page.get_by_role("dialog").get_by_role("button", name="Add").click()
        expect(page.locator(".wall li")).to_have_count(1)  # the search shows what was added
        page.get_by_role("button", name="Accuracy before and after").click()
        expect(page.get_by_text("with your changes")).to_be_visible()
        assert editable_memory(saved(records / "dcl").learner).classes() == list(range(6))
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
    memory = editable_memory(saved(records / "dcl").learner)
    assert (memory.name(1), memory.name(6)) == ("<img src=x onerror=alert(1)>", "kite")


def test_a_drawing_is_recognised_taught_and_moved(browser: Browser, studio: Studio, tmp_path: Path) -> None:
    with visit(browser, studio, "#/try?record=dcl") as page:
        draw(page)
        verdict = page.locator(".verdict")
        expect(verdict).to_be_visible()
        page.get_by_placeholder("its name").fill("kite")
        page.get_by_role("button", name="Teach it this").click()
        slide(page, "Unknown above", 1)
        expect(verdict).to_have_text("This is kite.")
        expect(page.locator(".leading li.answer")).to_contain_text("kite")
        before = page.locator(".leading li").first.inner_text()
        slide(page, "Turn", 2)
        expect(page.locator(".leading li").first).not_to_have_text(before)
        slide(page, "Unknown above", 0)
        expect(verdict).to_have_text("I do not know this.")
        Image.new("RGB", (40, 40), (200, 10, 10)).save(tmp_path / "red.png")
        page.locator("#upload").set_input_files(tmp_path / "red.png")
        red = "pad => pad.getContext('2d').getImageData(10, 10, 1, 1).data[0]"
        page.get_by_role("button", name="Back to the middle").click()
        until(lambda: page.locator(".pad").evaluate(red) == 200)
        (tmp_path / "words.png").write_text("not an image")
        page.locator("#upload").set_input_files(tmp_path / "words.png")
        expect(page.get_by_role("alert").filter(has_text="not an image")).to_be_visible()


def test_empty_states_say_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as studio:
        for name, words in (("runs", "everlearn run"), ("memory", "everlearn run"), ("vase", "vase")):
            with visit(browser, studio, f"#/{name}") as page:
                expect(page.locator(".empty")).to_contain_text(words)
        with visit(browser, studio) as page:
            page.evaluate("sessionStorage.clear()")
            page.goto(f"http://127.0.0.1:{studio.port}/")
            expect(page.locator(".empty")).to_contain_text("address that `everlearn studio` printed")


LAST = {"runs": "canvas.heat", "vase": ".empty"}
"""What comes last on pages that are never idle, or that may be so before they have asked for everything."""


@pytest.mark.parametrize("name", PAGES)
def test_pages_can_be_used_by_everybody(browser: Browser, studio: Studio, name: str) -> None:
    """Every control has a name, every image words, a phone shows all of it, and dark is dark."""
    with visit(browser, studio, f"#/{name}", width=390, look="dark") as page:
        expect(page.locator("h1")).to_be_visible()
        if name in LAST:
            page.locator(LAST[name]).wait_for()
        else:
            page.wait_for_load_state("networkidle")
        nameless = page.evaluate(NAMELESS)
        assert nameless == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert (
            page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 23, 28)"
        )
        page.get_by_role("radio", name="light").check()
        assert (
            page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body")


def test_screenshots(browser: Browser, kept: Path, tmp_path: Path) -> None:
    """The images of the documentation: everyday into nowhere, into docs when a folder is named."""
    out = Path(os.environ.get(SCREENSHOTS, tmp_path))
    folder = Path(os.environ.get(SHOWN) or shutil.copytree(kept, tmp_path / "records"))
    with serving(folder) as studio:
        for name in PAGES:
            with visit(browser, studio, f"#/{name}") as page:
                expect(page.locator("h1")).to_be_visible()
                PREPARED.get(name, lambda page: None)(page)
                page.screenshot(path=out / f"studio-{name}.png")
    for name in PAGES:
        with Image.open(out / f"studio-{name}.png") as shot:
            assert shot.size == (1280, 900)
            assert len(shot.convert("RGB").getcolors(2**24) or []) > 50


def _overlaid(page: Page) -> None:
    page.locator("tbody input").first.wait_for()
    for tick in page.locator("tbody input").all():
        tick.check()
    page.locator("canvas.heat").wait_for()
    page.wait_for_timeout(2000)


def _walled(page: Page) -> None:
    page.locator(".wall img").first.wait_for()
    until(lambda: page.evaluate(SEEN))


def _tried(page: Page) -> None:
    page.get_by_role("button", name="A shape it knows").click()
    slide(page, "Turn", 2.1)
    slide(page, "Size", 0.7)
    page.locator(".verdict").wait_for()
    page.wait_for_timeout(2000)


def _drawn(page: Page) -> None:
    slide(page, "Angle", 0.6)
    page.get_by_label("Colour").fill("#ffb000")
    page.get_by_role("button", name="Sheet of 64").click()
    for image in (".sheet", "#sprite"):
        until(lambda image=image: page.locator(image).evaluate("image => image.naturalWidth"))
    page.wait_for_timeout(1000)


def _walked(page: Page) -> None:
    page.locator(".empty, .walks img").first.wait_for()
    page.get_by_role("heading", name=re.compile("An image|No record")).evaluate("h2 => h2.scrollIntoView()")
    page.wait_for_timeout(1000)


PREPARED = {"runs": _overlaid, "memory": _walled, "try": _tried, "sprites": _drawn, "vase": _walked}
