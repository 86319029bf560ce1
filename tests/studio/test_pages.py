"""All pages in a browser."""

import json
import re
import threading
import time
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from everlearn.files import lock_holder
from everlearn.runs import Record

from .browser import draw_shape, open_page, set_slider
from .live_server import Studio, serve_in_thread, train_step, wait_until, write_long_curve
from .test_memory_editor import saved_memory

MARKUP = "<img src=x onerror=alert(1)>"


def test_sprites_follow_the_sliders(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/sprites") as page:
        image = page.locator("#sprite")
        expect(image).to_have_js_property("naturalWidth", 256)
        before = image.get_attribute("src") or ""
        set_slider(page, "Angle", 1.5)
        set_slider(page, "Difficulty", 0.5)
        expect(page.locator("#code")).to_contain_text("Factors(angle=1.5)")
        expect(page.locator("#code")).to_contain_text("ShapeFamily(difficulty=0.5).outline(7)")
        expect(image).not_to_have_attribute("src", before)
        page.get_by_role("button", name="Next shape").click()
        shape = page.get_by_label("Shape", exact=True)
        expect(shape).to_have_value("8")
        expect(page.get_by_role("link", name="Download PNG")).to_have_attribute("download", "shape-8.png")
        page.get_by_role("button", name="Contact sheet").click()
        sheet = page.get_by_alt_text("Contact sheet")
        wait_until(lambda: sheet.evaluate("image => image.naturalWidth") > 500)
        sheet.click(position={"x": 130, "y": 30})
        expect(shape).not_to_have_value("8")


def test_runs_are_listed_filtered_and_plotted(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio) as page:
        expect(page.locator("#runs tbody tr")).to_have_count(2)
        page.get_by_label("Plot dcl").check()
        page.get_by_label("Plot nearest").check()
        accuracy = page.locator("#chart-accuracy")
        expect(accuracy).to_have_attribute("data-points", "4")
        expect(page.locator("canvas.matrix")).to_be_visible()
        accuracy.focus()
        page.keyboard.press("ArrowRight")
        expect(accuracy).to_have_attribute("aria-label", re.compile("after 1 tasks"))
        page.get_by_label("Filter by").fill("nearest")
        expect(page.locator("#runs tbody tr")).to_have_count(1)
        expect(page.locator(".legend li")).to_have_count(2)


def test_figures_are_downloaded(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/runs?record=dcl&record=nearest", theme="dark") as page:
        page.locator("canvas.matrix").wait_for()
        # Seven downloads in all: Chromium ignores more than ten within a second.
        for title in ("Accuracy on all tasks seen", "Score matrix"):
            for name in ("SVG", "PNG", "CSV"):
                with page.expect_download() as download:  # by key: a click misses if the table above grows
                    page.get_by_label(f"Download {title} as {name}").press("Enter")
                assert download.value.suggested_filename.endswith(name.lower())
                assert "dark=true" in download.value.url
        with page.expect_download() as download:
            page.locator("#all-curves").press("Enter")
        assert "dcl,,loss," in Path(download.value.path()).read_text()


def test_zoom_loads_all_points(browser: Browser, studio: Studio, records: Path) -> None:
    write_long_curve(records / "nearest", 25_000)
    with open_page(browser, studio, "#/runs?record=nearest") as page:
        chart = page.locator("#chart-loss")

        def n_points() -> int:
            return int(chart.get_attribute("data-points") or 0)

        wait_until(lambda: 1000 < n_points() < 2100)
        chart.focus()
        for _ in range(4):
            page.keyboard.press("+")
        wait_until(lambda: n_points() == pytest.approx(25_000 / 16, abs=20))
        with page.expect_download() as download:
            page.get_by_label("Download Loss as SVG").click()
        assert "low=0.46875&high=0.53125" in download.value.url
        reset = page.get_by_role("button", name="Reset zoom of Loss")
        reset.click()
        wait_until(lambda: 1600 < n_points() < 2100)
        expect(reset).to_be_hidden()


def test_live_curves_show_every_event(browser: Browser, studio: Studio, records: Path) -> None:
    log, n_events = records / "nearest" / "events.jsonl", 60
    log.write_bytes(train_step(0))

    def write_events() -> None:
        with log.open("ab", buffering=0) as file:
            for batch in range(1, n_events):
                file.write(train_step(batch))
                time.sleep(1 / 60)

    with open_page(browser, studio, "#/runs?record=nearest") as page:
        expect(page.locator("#chart-loss")).to_have_attribute("data-points", "1")
        writer = threading.Thread(target=write_events)
        writer.start()
        expect(page.locator("#chart-loss")).to_have_attribute("data-points", str(n_events))
        writer.join()


LEARNER = (
    "from everlearn.learners import NearestMeanImage\n\n\nclass Mine(NearestMeanImage):\n    'My method.'\n"
)


def test_a_run_of_a_learner_in_a_file_is_started_and_stopped(
    browser: Browser, studio: Studio, records: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(LEARNER)
    with open_page(browser, studio) as page:
        page.get_by_role("button", name="New run").click()
        form = page.get_by_role("form", name="New run")
        form.get_by_label("Learner", exact=True).select_option("nearest")
        form.get_by_text("Settings of nearest").wait_for()
        form.get_by_label("Learner", exact=True).select_option("from a file or module…")
        form.get_by_label("Your learner").fill("missing.py:Mine")
        form.get_by_label("Your learner").press("Tab")
        expect(page.get_by_role("alert").filter(has_text="here is no file")).to_be_visible()
        form.get_by_label("Your learner").fill(f"{tmp_path / 'mine.py'}:Mine")
        form.get_by_label("Your learner").press("Tab")
        form.get_by_text("My method.").wait_for()
        form.get_by_text("Settings of sprites").click()
        form.get_by_label("image size", exact=True).fill("16")
        form.get_by_label("factor values", exact=True).fill("2")
        form.get_by_label("split", exact=True).fill("8,3,3")
        form.get_by_label("n tasks", exact=True).first.fill("1000000")
        form.get_by_label("Name (optional)").fill("from the page")
        form.get_by_role("button", name="Start").click()
        expect(page.locator("#runs tbody")).to_contain_text("from the page")
        (folder,) = records.glob("from-the-page-*")
        wait_until(lambda: Record(folder).n_tasks_done > 0)
        page.get_by_role("button", name="Stop from-the-page").click()
        wait_until(lambda: lock_holder(folder) is None)
        expect(page.get_by_role("button", name="Resume from-the-page")).to_be_visible()
        spec = json.loads((folder / "spec.json").read_text())
        assert (spec["stream"]["split"], spec["learner"]["name"][-8:]) == ([8, 3, 3], ".py:Mine")


def test_an_error_is_shown(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio) as page:
        page.get_by_role("button", name="New run").click()
        epochs = page.get_by_label("epochs", exact=True)
        epochs.fill("0")
        epochs.evaluate("input => input.removeAttribute('min')")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("alert").filter(has_text="Epochs is 0")).to_be_visible()


def test_memory_is_edited_undone_and_saved(browser: Browser, studio: Studio, records: Path) -> None:
    with open_page(browser, studio, "#/memory?record=dcl") as page:
        tiles, dialog = page.locator(".gallery li"), page.get_by_role("dialog")
        expect(tiles).to_have_count(6)
        page.get_by_role("button", name="Forget class 2").click()
        dialog.get_by_role("button", name="Forget").click()
        expect(tiles).to_have_count(5)
        page.get_by_role("button", name="Undo").click()
        expect(tiles).to_have_count(6)
        page.get_by_role("button", name="Rename class 1").click()
        dialog.get_by_role("textbox").fill(MARKUP)
        dialog.get_by_role("button", name="OK").click()
        expect(page.locator(".gallery")).to_contain_text(MARKUP)
        page.get_by_role("button", name="Add a class").click()
        draw_shape(page, "dialog .image-canvas")
        dialog.get_by_label("Name").fill("kite")
        dialog.get_by_role("button", name="Add").click()
        expect(tiles).to_have_count(1)  # the search is set to the new name
        page.get_by_role("button", name="Accuracy before and after").click()
        expect(page.get_by_text("with the changes")).to_be_visible()
        assert saved_memory(records / "dcl").classes() == list(range(6))
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
    memory = saved_memory(records / "dcl")
    assert (memory.name(1), memory.name(6)) == (MARKUP, "kite")


def test_an_image_is_drawn_recognized_and_added(browser: Browser, studio: Studio, tmp_path: Path) -> None:
    with open_page(browser, studio, "#/try?record=dcl") as page:
        draw_shape(page)
        prediction, candidates = page.locator(".prediction"), page.locator(".thumbnails li")
        expect(prediction).to_be_visible()
        page.get_by_placeholder("class name").fill("kite")
        page.get_by_role("button", name="Add to memory").click()
        set_slider(page, "Novelty threshold", 1)
        expect(prediction).to_have_text("kite")
        expect(page.locator(".thumbnails li.selected")).to_contain_text("kite")
        before = candidates.first.inner_text()
        set_slider(page, "Angle", 2)
        expect(candidates.first).not_to_have_text(before)
        set_slider(page, "Novelty threshold", 0)
        expect(prediction).to_have_text("Unknown")
        Image.new("RGB", (40, 40), (200, 10, 10)).save(tmp_path / "red.png")
        page.locator("#upload").set_input_files(tmp_path / "red.png")
        page.get_by_role("button", name="Reset pose").click()
        red = "canvas => canvas.getContext('2d').getImageData(10, 10, 1, 1).data[0]"
        wait_until(lambda: page.locator(".image-canvas").evaluate(red) == 200)
        (tmp_path / "text.png").write_text("not an image")
        page.locator("#upload").set_input_files(tmp_path / "text.png")
        expect(page.get_by_role("alert").filter(has_text="not an image")).to_be_visible()


def test_environments_are_shown(browser: Browser, vase_studio: Studio) -> None:
    n_environments = len(vase_studio.get("/api/environments", record="vase").json()["environments"])
    with open_page(browser, vase_studio, "#/vase") as page:
        expect(page.locator("#chart-environment")).to_have_attribute("data-points", re.compile("[1-9]"))
        expect(page.locator("#environments tbody tr")).to_have_count(n_environments)
        expect(page.locator("#inferred tbody tr")).to_have_count(2)
        expect(page.locator(".legend")).to_contain_text("inverted-sprites, environment 1")
        page.get_by_role("button", name="environment 1").click()
        expect(page.get_by_role("heading", name="Latent traversals in environment 1")).to_be_visible()
        image = page.locator(".thumbnails img").first
        before = image.get_attribute("src") or ""
        page.get_by_label("Task", exact=True).select_option("1")
        expect(image).not_to_have_attribute("src", before)
        page.get_by_role("button", name="environment 0").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Latent traversals in environment 0")).to_be_visible()
        expect(page.get_by_role("button", name="environment 0")).to_be_focused()


def test_a_learner_without_a_classifier_has_no_score_matrix(browser: Browser, vase_studio: Studio) -> None:
    with open_page(browser, vase_studio, "#/runs?record=vase") as page:
        expect(page.get_by_text("This learner does not classify images")).to_be_visible()
        expect(page.locator(".colour-bar")).to_be_hidden()


def test_empty_pages_state_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with serve_in_thread(tmp_path) as studio:
        for name, text in (("runs", "everlearn run"), ("memory", "everlearn run"), ("vase", "vase")):
            with open_page(browser, studio, f"#/{name}") as page:
                expect(page.locator(".empty")).to_contain_text(text)
        with open_page(browser, studio) as page:
            page.evaluate("sessionStorage.clear()")
            page.goto(f"http://127.0.0.1:{studio.port}/")
            expect(page.locator(".empty")).to_contain_text("address that `everlearn studio` printed")
