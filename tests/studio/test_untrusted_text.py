"""Names that contain scripts or formulas are shown as text, and downloads do not contain them as code."""

import csv
import io
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from everlearn.studio.memory_editor import ClassEdit

from .browser import draw_shape, open_page
from .live_server import Studio, serve_in_thread
from .test_memory_editor import edit_record

ATTACK = "window.pwned=1"
SCRIPTS = (
    f"<script>{ATTACK}</script>",
    f"</script><script>{ATTACK}</script>",
    f"<img src=x onerror={ATTACK}>",
    f'"><img src=x onerror="{ATTACK}">',
    f"'><svg onload='{ATTACK}'>",
    f"<svg><script>{ATTACK}</script></svg>",
    f"<svg><animate onbegin={ATTACK} attributeName=x dur=1s>",
    f"<body onload={ATTACK}>",
    f"<iframe srcdoc='<script>parent.{ATTACK}</script>'>",
    f"<iframe src=javascript:parent.{ATTACK}>",
    f"<a href=javascript:{ATTACK}>press</a>",
    f"javascript:{ATTACK}",
    f"data:text/html,<script>{ATTACK}</script>",
    f"<details open ontoggle={ATTACK}>",
    f"<input autofocus onfocus={ATTACK}>",
    f"<video><source onerror={ATTACK}></video>",
    f"<math><mi xlink:href=javascript:{ATTACK}>x</mi></math>",
    f"<style>@import 'javascript:{ATTACK}'</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example/>",
    f"{{{{constructor.constructor('{ATTACK}')()}}}}",
    f"${{{ATTACK}}}",
    f"`-{ATTACK}-`",
    f"\\u003cscript\\u003e{ATTACK}",
    f"&lt;script&gt;{ATTACK}&lt;/script&gt;",
    f"<!--><img src=x onerror={ATTACK}>-->",
    f"]]><script>{ATTACK}</script>",
    f"<template><script>{ATTACK}</script></template>",
    f"\u202e<script>{ATTACK}</script>",
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
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


@pytest.fixture(scope="module")
def untrusted_records(trained_records: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records whose names, folders and classes are scripts and formulas."""
    folder = tmp_path_factory.mktemp("untrusted")
    for text in (*SCRIPTS, *FORMULAS):
        copy = Path(shutil.copytree(trained_records / "nearest", folder / _file_name(text)))
        (copy / "name.txt").write_text(text, "utf-8")
    shutil.copytree(trained_records / "dcl", folder / "dcl")
    (folder / "dcl" / "name.txt").write_text(SCRIPTS[2], "utf-8")
    edit_record(folder / "dcl", *(ClassEdit("rename", label, SCRIPTS[label]) for label in range(6)))
    return folder


def _file_name(text: str) -> str:
    return text.replace("/", "\u2215")


def normalized(text: str) -> str:
    return " ".join(text.split())


def check_no_script_ran(page: Page) -> None:
    """`open_page` itself checks that no request went to another host."""
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    markup = "document.querySelectorAll('main script, main iframe, main base, main svg').length"
    assert page.evaluate(markup) == 0


def test_names_of_records_are_text(browser: Browser, untrusted_records: Path) -> None:
    with serve_in_thread(untrusted_records) as studio, open_page(browser, studio) as page:
        expect(page.locator("#runs tbody tr")).to_have_count(len(SCRIPTS) + len(FORMULAS) + 1)
        shown = normalized(page.locator("#runs tbody").inner_text())
        assert [text for text in SCRIPTS if normalized(text) not in shown] == []
        for checkbox in page.locator("#runs tbody input").all()[:12]:
            checkbox.check()
        page.locator("canvas.matrix").wait_for()
        for chart in page.locator("canvas.chart").all():
            chart.hover()
        check_no_script_ran(page)
        page.get_by_label("Filter by").fill(SCRIPTS[0])
        check_no_script_ran(page)


def test_names_of_classes_and_files_are_text(
    browser: Browser, untrusted_records: Path, tmp_path: Path
) -> None:
    shutil.copytree(untrusted_records / "dcl", tmp_path / "records" / "dcl")
    with serve_in_thread(tmp_path / "records") as studio:
        for text in SCRIPTS:
            response = studio.post("/api/memory/add", bytes(1024), record="dcl", version=0, name=text)
            assert response.is_success == text.isprintable(), response.text
        names = [text for text in SCRIPTS if text.isprintable()]
        with open_page(browser, studio, "#/memory?record=dcl") as page:
            expect(page.locator(".gallery li")).to_have_count(6 + len(names))
            shown = normalized(page.locator(".gallery").inner_text())
            assert [text for text in names if normalized(text) not in shown] == []
            page.get_by_role("button", name="Forget ").nth(9).click()
            check_no_script_ran(page)
        with open_page(browser, studio, "#/try?record=dcl") as page:
            draw_shape(page)
            page.locator(".prediction").wait_for()
            invalid = tmp_path / f"{_file_name(SCRIPTS[3])}.png"
            invalid.write_text(SCRIPTS[0])
            page.locator("#upload").set_input_files(invalid)
            expect(page.get_by_role("alert").filter(has_text="not an image")).to_be_visible()
            valid = tmp_path / f"{_file_name(SCRIPTS[2])}.png"
            Image.new("RGB", (40, 40)).save(valid)
            page.locator("#upload").set_input_files(valid)
            check_no_script_ran(page)


def test_parameters_of_the_address_are_text(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio, f"#/runs?record={SCRIPTS[0]}") as page:
        for text in SCRIPTS[1:8]:
            page.locator("h1").wait_for()
            page.evaluate("address => location.assign(address)", f"#/runs?record={text}")
        page.locator("h1").wait_for()
        check_no_script_ran(page)


def test_error_messages_are_text(browser: Browser, shared_studio: Studio) -> None:
    with open_page(browser, shared_studio) as page:
        page.get_by_role("button", name="New run").click()
        page.get_by_text("Settings of sprites").click()
        page.get_by_label("split", exact=True).fill(SCRIPTS[2])
        page.get_by_label("Name (optional)").fill(SCRIPTS[0])
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("alert").filter(has_text="Split is")).to_be_visible()
        check_no_script_ran(page)


def test_csv_downloads_contain_no_formulas(untrusted_records: Path) -> None:
    with serve_in_thread(untrusted_records) as studio:
        for text in (*SCRIPTS, *FORMULAS):
            for path, query in (("curves.csv", {}), ("scores", {"format": "csv"})):
                content = studio.get(f"/api/downloads/{path}", record=_file_name(text), **query).text
                rows = list(csv.reader(io.StringIO(content)))
                assert len(rows) > 2
                cells = [cell for row in rows[1:] for cell in row[:2]]
                assert [cell for cell in cells if cell.lstrip().startswith(FORMULA_STARTS)] == [], text
                assert rows[1][1] in (text.strip(), f"'{text.strip()}")


def test_svg_downloads_contain_no_scripts(untrusted_records: Path) -> None:
    with serve_in_thread(untrusted_records) as studio:
        for text in SCRIPTS[::4]:
            for path, query in (("curve", {"curve": "accuracy"}), ("scores", {})):
                name = _file_name(text)
                response = studio.get(f"/api/downloads/{path}", record=name, format="svg", **query)
                assert response.headers["content-disposition"].startswith("attachment")
                elements = list(ElementTree.fromstring(response.content).iter())
                scripts = ("script", "iframe", "foreignObject")
                assert not any(element.tag.endswith(scripts) for element in elements)
                attributes = [pair for element in elements for pair in element.attrib.items()]
                assert not any(key.lower().startswith("on") for key, _ in attributes)
                links = [value for key, value in attributes if key.endswith("href")]
                assert all(link.startswith(("#", "data:image/png")) for link in links)
