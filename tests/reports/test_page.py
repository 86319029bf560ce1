import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.reports import FIGURES, LOOKS, html, latent_figures, probe_figures
from everlearn.runs import Record

DESCRIBED = {**probe_figures.DRAWINGS, **latent_figures.DRAWINGS, **latent_figures.DRAWINGS}
"""Figures of learners that describe, which are looked at elsewhere."""

VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Notes every element and attribute, and that all that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.seen: list[str] = []
        self.words: list[str] = []

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
        self.words.append(data)


def _read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def page(runs: dict[str, Record], asked: dict[str, Record], tmp_path_factory: pytest.TempPathFactory) -> str:
    return html([*asked.values(), *runs.values()], tmp_path_factory.mktemp("page") / "report.html").read_text(
        "utf-8"
    )


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    reader = _read(page)
    assert "://" not in page
    assert not {"script", "link", "iframe", "object", "embed"} & set(reader.seen)
    for name, value in reader.attributes:
        if name in ("src", "href", "xlink:href"):
            assert value.startswith(("#", "data:image/png;base64,"))
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?(.)", page))
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_every_figure_is_there_once_and_takes_the_page_colours(page: str) -> None:
    reader = _read(page)
    assert reader.seen.count("svg") == len(FIGURES.keys() - DESCRIBED)
    drawings = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    for role, colour in LOOKS["paper"].roles.items():
        assert colour not in drawings
        assert f"--{role}: light-dark({colour}, {LOOKS['dark'].roles[role]})" in page


def test_no_name_is_given_twice_with_another_meaning(page: str) -> None:
    named = re.findall(r'<(\w+) id="([^"]+)"([^>]*)>', page)
    meanings: dict[str, set[str]] = {}
    for tag, name, rest in named:
        meanings.setdefault(name, set()).add(tag + rest)
    assert all(len(each) == 1 for each in meanings.values())


def test_every_run_is_told_with_spec_fingerprint_and_digest(page: str, runs: dict[str, Record]) -> None:
    words = " ".join(_read(page).words)
    for record in runs.values():
        start = next(record.events())
        for fact in (record.digest, record.spec_hash, start["fingerprint"], start["given"], start["stream"]):
            assert fact in words
        assert record.folder.name in words
    assert "memory_size = 4" in words


def test_names_from_outside_stay_words(page: str) -> None:
    assert "nearest &lt;b&gt;&amp;" in page
    assert "<b>&" not in page


def test_equal_records_give_equal_pages(
    page: str, runs: dict[str, Record], asked: dict[str, Record], tmp_path: Path
) -> None:
    assert html([*asked.values(), *runs.values()], tmp_path / "again.html").read_text("utf-8") == page


def test_what_is_not_there_is_left_out(runs: dict[str, Record], unfinished: Record, tmp_path: Path) -> None:
    alone = html([unfinished], tmp_path / "alone.html").read_text("utf-8")
    assert alone.count("<svg") == 3  # accuracy, scores and cost
    assert "with care" not in alone
    both = html([unfinished, runs["nearest"]], tmp_path / "both.html").read_text("utf-8")
    assert "did not play the same number of tasks" in both


@pytest.mark.parametrize("name", ["report.pdf", "report", "missing/report.html"])
def test_bad_paths(name: str, runs: dict[str, Record], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot write"):
        html([runs["naive"]], tmp_path / name)
    assert not list(tmp_path.iterdir())
