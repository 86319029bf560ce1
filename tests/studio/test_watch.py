"""Pages that explain: watching a run, the glossary, and an empty studio."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from everlearn.learners.registry import LEARNERS
from everlearn.runs import Record
from everlearn.studio import glossary

from .browser import open_page
from .live_server import Studio, serve_in_thread, wait_until


def test_two_runs_are_watched_by_keyboard(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/watch?record=nearest&record=dcl") as page:
        time, tasks = page.get_by_label("After task"), page.locator(".tasks li")
        expect(tasks).to_have_count(2)
        expect(page.locator(".watch .prediction").first).to_have_text(re.compile("right on one task"))
        wait_until(lambda: tasks.first.locator("img").evaluate("image => image.naturalWidth") > 40)
        time.focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text("2 of 2")).to_be_visible()
        expect(tasks.nth(1)).to_have_class("current")
        page.keyboard.press(" ")  # from the start again
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.get_by_text("2 of 2")).to_be_visible()
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # check-words: allow
        expect(time).to_be_focused()
        page.locator("#run-1").select_option("nearest")
        both = page.locator(".watch .prediction").all_inner_texts
        wait_until(lambda: len(set(both())) == 1)


def test_task_images_and_their_errors(shared_studio: Studio) -> None:
    first, second = (shared_studio.get("/api/records/task.png", record="dcl", task=task) for task in (0, 1))
    assert first.content != second.content
    assert shared_studio.get("/api/records/task.png", record="dcl", task=-1).status_code == 400


def test_every_learner_is_explained(shared_studio: Studio) -> None:
    found = shared_studio.get("/api/glossary").json()
    assert {each["name"] for each in found["learners"]} == LEARNERS.keys()
    assert all(each["text"] for section in found.values() for each in section)
    assert glossary.reference("dcl")["url"] == "https://arxiv.org/abs/2312.16731"
    assert glossary.reference("naive") == {}


def test_an_empty_studio_explains_itself(browser: Browser, tmp_path: Path) -> None:
    with serve_in_thread(tmp_path) as studio, open_page(browser, studio) as page:
        image = page.locator(".introduction")
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("image => image.naturalWidth") > 100
        expect(page.get_by_role("button", name="Quick look: about 25 s")).to_be_visible()
        page.get_by_role("link", name="All terms explained").click()
        expect(page.locator("dt").get_by_text("DCL", exact=True)).to_be_visible()


@pytest.mark.more
@pytest.mark.parametrize(("page_name", "learner"), [("memory", "dcl"), ("vase", "vase")])
def test_a_demo_is_trained_by_one_click(
    browser: Browser, tmp_path: Path, page_name: str, learner: str
) -> None:
    with serve_in_thread(tmp_path) as studio, open_page(browser, studio, f"#/{page_name}") as page:
        page.get_by_role("button", name=re.compile("about")).click()
        expect(page.locator("#record")).to_be_visible()
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert Record(folder).spec["learner"]["name"] == learner
