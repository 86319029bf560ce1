"""The figures of several runs in a browser."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, expect

from .browser import open_page
from .live_server import Studio
from .test_curve_groups import copy_with_seed


def test_runs_are_grouped_and_compared(browser: Browser, studio: Studio, records: Path) -> None:
    copy_with_seed(records / "nearest", 1)
    path = "#/runs?record=dcl&record=nearest&record=nearest-1"
    with open_page(browser, studio, path) as page:
        legend, accuracy = page.locator(".legend li"), page.locator("#chart-accuracy")
        expect(legend).to_have_text(["dcl", "nearest (2 seeds)"])
        expect(accuracy).to_have_attribute("data-points", "8")  # dcl, the mean and two seeds
        expect(page.locator("#leaderboard tbody tr")).to_have_count(2)
        accuracy.focus()
        page.keyboard.press("ArrowLeft")
        expect(accuracy).to_have_attribute(
            "aria-label", re.compile(r"after 1 tasks, .* \(0 to 0\.\d+\)  nearest")
        )
        forgetting = page.locator("#chart-forgetting")  # its cursor follows
        expect(forgetting).to_have_attribute("aria-label", re.compile("after 2 tasks"))
        page.get_by_label("Group seeds").uncheck()
        expect(legend).to_have_text(["dcl", "nearest", "nearest-1"])
        page.get_by_label("Metric").select_option("accuracy")
        expect(forgetting).to_be_hidden()
        page.get_by_label("Over").select_option("images")
        expect(accuracy).to_have_attribute("aria-label", re.compile(r"after \d+ images"))
        page.get_by_label("Show", exact=True).select_option("nearest")
        expect(accuracy).to_have_attribute("data-points", "4")
        link = page.get_by_label("Download Accuracy on all tasks seen as SVG")
        with page.expect_download() as download:
            link.press("Enter")
        assert "axis=images" in download.value.url
        assert "baseline=nearest" in download.value.url


def test_a_cell_of_the_score_matrix_is_read_on_focus_and_hover(
    browser: Browser, shared_studio: Studio
) -> None:
    with open_page(browser, shared_studio, "#/runs?record=dcl") as page:
        matrix, value = page.locator("canvas.matrix"), page.locator(".matrix-grid p")
        page.get_by_label("Download Score matrix as LaTeX").focus()
        page.keyboard.press("Tab")
        expect(matrix).to_be_focused()
        expect(value).to_have_text(re.compile("Accuracy on task 1 after task 2: "))
        matrix.hover(position={"x": 5, "y": 5})
        expect(value).to_have_text(re.compile("Accuracy on task 1 after task 1: "))


GROUPS = """async () => {
  const { interpolate, meanAndBand, minus, along, RunGroups } = await import("/static/run_groups.js");
  const groups = new RunGroups();
  const run = (record, learner, group) => ({ record, name: "", learner, group });
  const lines = (runs) => groups.of(runs, true).map(({ line }) => line);
  return {
    inside: interpolate([[0, 0], [2, 4]], 0.5),
    outside: interpolate([[1, 0], [2, 4]], 0.5) ?? null,
    mean: meanAndBand([[[1, 2], [2, 4]], [[1, 4], [2, 8]]]),
    minus: minus([[1, 5], [3, 5]], [[0, 0], [2, 2]]),
    along: along("images", { images: [[1, 100], [2, 300]] }, [[0.5, 7], [2, 8], [2.5, 9]]),
    lines: [
      lines([run("a", "er", "1"), run("b", "dcl", "2"), run("c", "er", "3")]),
      lines([run("b", "dcl", "2"), run("d", "vase", "4")]),
    ],
  };
}"""


def test_the_arithmetic_of_groups(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/vase") as page:
        found = page.evaluate(GROUPS)
    assert (found["inside"], found["outside"]) == (1, None)
    assert found["mean"] == {"points": [[1, 3], [2, 6]], "band": [[1, 2, 4], [2, 4, 8]]}
    assert found["minus"] == [[1, 4]]
    assert found["along"] == [[50, 7], [300, 8]]
    assert found["lines"] == [[0, 1, 8], [1, 0]]  # a learner keeps its colour; variants are dashed


PINCH = """(canvas, [from, to]) => {
  const box = canvas.getBoundingClientRect();
  const send = (type, pointerId, x) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId, pointerType: "touch", clientX: box.left + 56 + x * (box.width - 74), clientY: box.top + 50 }));
  canvas.setPointerCapture = () => {};  // no such pointer exists
  from.forEach((x, i) => send("pointerdown", 50 + i, x));
  to.forEach((x, i) => send("pointermove", 50 + i, x));
  to.forEach((x, i) => send("pointerup", 50 + i, x));
}"""


def test_two_fingers_and_a_touchpad_zoom(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, "#/runs?record=dcl") as page:
        loss = page.locator("#chart-loss")
        expect(loss).to_have_attribute("data-points", "2")  # all: the first one alone has another range
        reset = page.locator("figure", has=loss).get_by_role("button", name="Reset zoom")
        loss.evaluate(PINCH, [[0.375, 0.625], [0.25, 0.75]])
        expect(reset).to_be_visible()
        with page.expect_download() as download:
            page.get_by_label("Download Loss as LaTeX").click()
        shown = parse_qs(download.value.url)
        assert [float(shown[end][0]) for end in ("low", "high")] == pytest.approx([0.5, 1.5], abs=0.02)
        loss.evaluate(PINCH, [[0.2, 0.8], [0.45, 0.55]])
        expect(reset).to_be_hidden()
        loss.hover()
        page.keyboard.down("Control")
        page.mouse.wheel(0, -60)
        expect(reset).to_be_visible()
        page.mouse.wheel(0, 400)
        expect(reset).to_be_hidden()
