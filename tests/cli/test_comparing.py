import json
import re
from pathlib import Path

import pytest

from everlearn import reports

from .outcomes import Run, assert_refused, tree


def test_compare_gives_rows_a_table_and_csv(run: Run, records: Path) -> None:
    facts = json.loads(run("compare", "records", "--csv", "table.csv", "--json").out)
    assert {row["learner"] for row in facts["rows"]} == {"dcl", "nearest"}
    assert len(Path("table.csv").read_text().splitlines()) == 3
    out = run("compare", "records/dcl", "records/nearest").out
    assert "dcl" in out
    assert "nearest" in out


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_plot_draws_the_same_bytes_twice(run: Run, records: Path, suffix: str) -> None:
    for name in ("a", "b"):
        facts = json.loads(run("plot", "accuracy", "records", "-o", f"{name}{suffix}", "--json").out)
        assert facts == {"figure": "accuracy", "out": f"{name}{suffix}"}
    assert Path(f"a{suffix}").read_bytes() == Path(f"b{suffix}").read_bytes()


def test_plot_in_the_dark_is_another_image(run: Run, records: Path) -> None:
    run("plot", "forgetting", "records")
    run("plot", "forgetting", "records", "--dark", "-o", "dark.svg")
    assert Path("everlearn-forgetting.svg").read_bytes() != Path("dark.svg").read_bytes()


def test_help_names_every_figure(run: Run) -> None:
    words = set(re.findall(r"[a-z-]+", run("plot", "--help").out))
    assert set(reports.captions()) <= words


def test_a_protocol_can_be_plotted_until_the_record_changes(run: Run, records: Path) -> None:
    assert_refused(run("plot", "one-shot", "records"))
    assert run("evaluate", "one-shot", "records/dcl", "--n-new", "2", "--n-images", "10").code == 0
    assert run("plot", "one-shot", "records").code == 0
    assert run("memory", "forget", "records/dcl", "1").code == 0
    assert "everlearn evaluate one-shot" in run("plot", "one-shot", "records").err


def test_report_is_one_page(run: Run, records: Path) -> None:
    facts = json.loads(run("report", "records", "-o", "page.html", "--json").out)
    assert facts == {"records": ["records/dcl", "records/nearest"], "out": "page.html"}
    assert Path("page.html").read_text().startswith("<!")


@pytest.mark.parametrize(
    "words",
    [
        ("compare",),
        ("compare", "missing"),
        ("compare", "records", "--csv", "missing/table.csv"),
        ("plot",),
        ("plot", "accuracy"),
        ("plot", "beauty", "records"),
        ("plot", "acuracy", "records"),
        ("plot", "accuracy", "records", "-o", "a.jpg"),
        ("plot", "accuracy", "records", "-o", "a\0.svg"),
        ("plot", "accuracy", "records", "-o", "missing/a.svg"),
        ("report",),
        ("report", "missing"),
        ("report", "records", "-o", "page.txt"),
        ("report", "records", "-o", "records"),
        ("show",),
        ("show", "missing"),
        ("show", "records"),
        ("show", "a\0b"),
        ("list", "missing"),
        ("list", "records", "records"),
        ("resume",),
        ("resume", "missing"),
        ("resume", "records"),
        ("resume", "records/dcl", "--tasks", "3"),
        ("learners", "dlc"),
        ("doctor", "now"),
        ("run", "--learner", "ecr"),
        ("run", "--learner", "../dcl"),
        ("run", "--learner", ""),
        ("run", "--stream", "sprits"),
        ("run", "--tasks", "0"),
        ("run", "--tasks", "-1"),
        ("run", "--tasks", "many"),
        ("run", "--tasks", "99999999"),
        ("run", "--epochs", "0"),
        ("run", "--epochs", "1.5"),
        ("run", "--batch-size", "0"),
        ("run", "--batch-size", "NaN"),
        ("run", "--seed", "-1"),
        ("run", "--seed", "x"),
        ("run", "--device", "gpu"),
        ("run", "--device", "cuda:9999"),
        ("run", "--probe-size", "0"),
        ("run", "--image-size", "8"),
        ("run", "--learning-rate", "fast", "--learner", "er"),
        ("run", "--learning-rate", "-1", "--learner", "er"),
        ("run", "--memory-size", "5", "--learner", "naive"),
        ("run", "--memory-size", "0", "--learner", "er"),
        ("run", "--set", "epochs"),
        ("run", "--set", "=3"),
        ("run", "--set", "epochs=1", "--set", "epochs=2"),
        ("run", "--set", "epochs=1", "--epochs", "2"),
        ("run", "--set", "epocs=1"),
        ("run", "--set", "learner.replay=3", "--learner", "er"),
        ("run", "--set", "lerner.memory_size=3"),
        ("run", "--set", "stream.image_sise=3"),
        ("run", "--set", "evaluation.evry=3"),
        ("run", "--spec", "missing.toml"),
        ("run", "--spec", "records"),
        ("run", "--record", "a\0b", "--learner", "nearest"),
        ("run", "--record", "records/dcl"),
        ("run", "--record", "records/dcl/spec.json/below", "--learner", "nearest"),
        ("run", "--lerner", "er"),
        ("run", "er"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(run: Run, records: Path, words: tuple[str, ...]) -> None:
    before = tree(Path())
    assert_refused(run(*words))
    assert tree(Path()) == before
