import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.plotting import STYLES
from everlearn.reports import captions, html, html_report
from everlearn.runs import Record

VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Collects elements, attributes and text, and checks that all elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def records(runs: dict[str, Record], evaluated: dict[str, Record], vase: Record) -> list[Record]:
    return [*evaluated.values(), *runs.values(), vase]


@pytest.fixture(scope="module")
def page(records: list[Record], tmp_path_factory: pytest.TempPathFactory) -> str:
    return html(records, tmp_path_factory.mktemp("page") / "report.html").read_text("utf-8")


def test_page_is_self_contained(page: str) -> None:
    reader = _read(page)
    assert "://" not in page
    assert not {"script", "link", "iframe", "object", "embed"} & set(reader.seen)
    for name, value in reader.attributes:
        if name in ("src", "href", "xlink:href"):
            assert value.startswith(("#", "data:image/png;base64,"))
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?(.)", page))
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_figures_use_css_variables(page: str) -> None:
    assert _read(page).seen.count("svg") == len(captions())
    assert all(caption in page for caption in captions().values())
    figures = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    for role, color in STYLES["light"].roles.items():
        assert color not in figures
        assert f"--{role}: light-dark({color}, {STYLES['dark'].roles[role]})" in page


def test_ids_are_unique(page: str) -> None:
    named = re.findall(r'<(\w+) id="([^"]+)"([^>]*)>', page)
    meanings: dict[str, set[str]] = {}
    for tag, name, rest in named:
        meanings.setdefault(name, set()).add(tag + rest)
    assert all(len(each) == 1 for each in meanings.values())


def test_runs_are_described(page: str, runs: dict[str, Record]) -> None:
    text = " ".join(_read(page).text)
    for record in runs.values():
        start = next(record.events())
        facts = [start[key] for key in ("fingerprint", "supervision", "stream")]
        assert all(fact in text for fact in (record.digest, record.spec_hash, record.folder.name, *facts))
    assert "memory_size = 4" in text
    assert "nearest &lt;b&gt;&amp;" in page
    assert "<b>&" not in page


@pytest.mark.more
def test_names_of_environments_are_text(
    runs: dict[str, Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(runs["naive"].folder, tmp_path / "copy"))
    probes = {"task": 0, "environment": "<b>", "n_batches": None, "results": {"<b>": {"object": 0.5}}}
    (copy / "probes.jsonl").write_text(json.dumps(probes) + "\n")
    monkeypatch.setattr(html_report, "_figures", lambda groups: "")
    text = html([Record(copy)], tmp_path / "report.html").read_text("utf-8")
    assert "<dt>&lt;b&gt;, object</dt>" in text


def test_equal_records_give_equal_bytes(page: str, records: list[Record], tmp_path: Path) -> None:
    assert html(records, tmp_path / "again.html").read_text("utf-8") == page


def test_figures_without_data_are_left_out(
    runs: dict[str, Record], unfinished: Record, tmp_path: Path
) -> None:
    alone = html([unfinished], tmp_path / "alone.html").read_text("utf-8")
    assert alone.count("<svg") == 5  # accuracy, scores, cost, accuracy against bytes and FLOPs
    assert "with care" not in alone
    both = html([unfinished, runs["nearest"]], tmp_path / "both.html").read_text("utf-8")
    assert "their numbers of tasks differ" in both


@pytest.mark.parametrize("name", ["report.pdf", "report", "missing/report.html"])
def test_invalid_paths_are_refused(name: str, runs: dict[str, Record], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot write"):
        html([runs["naive"]], tmp_path / name)
    assert not list(tmp_path.iterdir())
