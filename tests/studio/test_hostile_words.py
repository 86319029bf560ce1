"""Words made to harm are shown as words: no script runs, no formula leaves in a table."""

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from everlearn.runs import Record
from everlearn.runs.memory_edit import edited
from everlearn.studio.memory_editor import Rename

from .browsing import chromium, visit
from .test_browser import draw
from .visits import Studio, serving

RUN = "window.pwned=1"
SCRIPTS = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"'><svg onload='{RUN}'>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<body onload={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<iframe src=javascript:parent.{RUN}>",
    f"<a href=javascript:{RUN}>press</a>",
    f"javascript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<math><mi xlink:href=javascript:{RUN}>x</mi></math>",
    f"<style>@import 'javascript:{RUN}'</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example/>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"${{{RUN}}}",
    f"`-{RUN}-`",
    f"\\u003cscript\\u003e{RUN}",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"<!--><img src=x onerror={RUN}>-->",
    f"]]><script>{RUN}</script>",
    f"<template><script>{RUN}</script></template>",
    f"\u202e<script>{RUN}</script>",
)
FORMULAS = (
    "=1+1",
    '=HYPERLINK("http://evil.example";"x")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1,1)",
    " =1+1",
    "=cmd|'/c calc'!A1",
    '"=1+1',
    "\uff1d1+1",
)
BEGINNINGS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def stained(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records whose names, folders and classes are such words."""
    folder = tmp_path_factory.mktemp("stained")
    for words in (*SCRIPTS, *FORMULAS):
        copy = Path(shutil.copytree(kept / "nearest", folder / _folder(words)))
        (copy / "name.txt").write_text(words, "utf-8")
    memory = Record(str(shutil.copytree(kept / "dcl", folder / "dcl")))
    (memory.folder / "name.txt").write_text(SCRIPTS[2], "utf-8")
    edited(memory, [(edit.act, edit.apply) for edit in (Rename(i, SCRIPTS[i]) for i in range(6))])
    return folder


def _folder(words: str) -> str:
    """The words themselves, as far as a folder may be called so."""
    return words.replace("/", "\u2215")


def unharmed(page: Page) -> None:
    """Nothing ran; `visit` itself sees to it that nothing was asked of anybody else."""
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert (
        page.evaluate("document.querySelectorAll('main script, main iframe, main base, main svg').length")
        == 0
    )


def test_there_are_thirty() -> None:
    assert len(SCRIPTS) >= 30


def test_records_are_shown_as_they_are_called(browser: Browser, stained: Path) -> None:
    with serving(stained) as studio, visit(browser, studio) as page:
        expect(page.locator("tbody tr")).to_have_count(len(SCRIPTS) + len(FORMULAS) + 1)
        shown = page.locator("tbody").inner_text()
        assert [words for words in SCRIPTS if " ".join(words.split()) not in " ".join(shown.split())] == []
        for tick in page.locator("tbody input").all()[:12]:
            tick.check()
        page.locator("canvas.heat").wait_for()
        for chart in page.locator("canvas.chart").all():
            chart.hover()
        unharmed(page)
        page.get_by_label("Filter by").fill(SCRIPTS[0])
        unharmed(page)


def test_classes_are_shown_as_they_are_called(browser: Browser, stained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(stained, tmp_path / "records"))
    with serving(folder) as studio:
        for words in SCRIPTS:
            answer = studio.post("/api/memory/add", bytes(1024), record="dcl", seen=0, name=words)
            assert answer.is_success == words.isprintable(), answer.text
        named = [words for words in SCRIPTS if words.isprintable()]
        with visit(browser, studio, "#/memory?record=dcl") as page:
            expect(page.locator(".wall li")).to_have_count(6 + len(named))
            shown = " ".join(page.locator(".wall").inner_text().split())
            assert [words for words in named if " ".join(words.split()) not in shown] == []
            page.get_by_role("button", name="Forget ").nth(9).click()
            unharmed(page)
        with visit(browser, studio, "#/try?record=dcl") as page:
            draw(page)
            page.locator(".verdict").wait_for()
            bad = tmp_path / f"{_folder(SCRIPTS[3])}.png"
            bad.write_text(SCRIPTS[0])
            page.locator("#upload").set_input_files(bad)
            expect(page.get_by_role("alert").filter(has_text="not an image")).to_be_visible()
            good = tmp_path / f"{_folder(SCRIPTS[2])}.png"
            Image.new("RGB", (40, 40)).save(good)
            page.locator("#upload").set_input_files(good)
            unharmed(page)


@pytest.mark.parametrize("words", SCRIPTS[:8])
def test_words_in_an_address_are_only_words(browser: Browser, studio: Studio, words: str) -> None:
    with visit(browser, studio, f"#/runs?record={words}") as page:
        page.locator("h1").wait_for()
        unharmed(page)


def test_refusals_repeat_words_as_words(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio) as page:
        page.get_by_role("button", name="New run").click()
        page.get_by_text("Settings of sprites").click()
        page.get_by_label("split", exact=True).fill(SCRIPTS[2])
        page.get_by_label("Name (if you like)").fill(SCRIPTS[0])
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("alert").filter(has_text="plit")).to_be_visible()
        unharmed(page)


def test_no_table_computes_and_no_drawing_runs(stained: Path) -> None:
    with serving(stained) as studio:
        for words in (*SCRIPTS, *FORMULAS):
            name = _folder(words)
            for path, more in (("curves.csv", {}), ("scores", {"ending": "csv"})):
                text = studio.get(f"/api/exports/{path}", record=name, **more).text
                told = list(csv.reader(io.StringIO(text)))
                assert len(told) > 2
                cells = [cell for row in told[1:] for cell in row[:2]]
                assert [cell for cell in cells if cell.lstrip().startswith(BEGINNINGS)] == [], words
                assert told[1][1] in (words.strip(), f"'{words.strip()}")
        for words in SCRIPTS[:12]:
            query = {"record": _folder(words), "ending": "svg"}
            for path, more in (("curve", {"curve": "accuracy"}), ("scores", {})):
                drawing = studio.get(f"/api/exports/{path}", **query, **more)
                assert drawing.headers["content-disposition"].startswith("attachment")
                parts = list(ElementTree.fromstring(drawing.content).iter())
                assert not any(part.tag.endswith(("script", "iframe", "foreignObject")) for part in parts)
                names = [name.lower() for part in parts for name in part.attrib]
                assert not any(name.startswith("on") for name in names)
                links = [part.attrib[name] for part in parts for name in part.attrib if name.endswith("href")]
                assert all(link.startswith(("#", "data:image/png")) for link in links)
