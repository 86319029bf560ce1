"""HTML report of records in one self-contained file, light and dark, without scripts."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from everlearn import files
from everlearn.evaluation.formatting import DASH, format_error, format_score
from everlearn.evaluation.probes import ACCURACIES, probe_keys, retention
from everlearn.plotting import STYLES, use_style
from everlearn.plotting.axes import NothingToDraw
from everlearn.plotting.style import css_variables, inline_svg
from everlearn.reports.comparison import Comparison, compare
from everlearn.reports.comparison_columns import Column
from everlearn.reports.figures import captions, get_drawing
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults
from everlearn.runs.run_record import Record

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The browser loads nothing that is not in the file."""
BANDS = "Bands are the range over seeds if there are fewer than 5 of them, else Student's 95 % interval."
THEMES = "".join(
    f'<label><input type="radio" name="theme" id="{name}"{checked}> {name}</label>'
    for name, checked in (("auto", " checked"), ("light", ""), ("dark", ""))
)
HASH_LENGTH = 16
"""Characters of a shortened hash."""


def html(records: Sequence[Record], path: Path | str) -> Path:
    """Write a report with tables, figures and specifications of runs to an .html file.

    Runs that differ in their seeds only are grouped. Equal records give equal bytes. Figures without data are
    left out.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> "nearest over 2 tasks" in html([record], f"{folder}/report.html").read_text()
        True
    """
    path = Path(path)
    files.check_output(path, (".html", ".htm"))
    files.write(path, _page(compare(records)).encode())
    return path


def _page(comparison: Comparison) -> str:
    groups = comparison.groups
    learners = dict.fromkeys(run.record.spec["learner"]["name"] for run in _runs(groups))
    css = resources.files("everlearn.reports").joinpath("page.css").read_text("utf-8")
    title = f"{_listed(learners)} over {_counted(max(each.n_tasks for each in groups))}"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>\n{css_variables()}{css}</style>",
            f'<header><h1>{escape(title)}</h1><span class="theme">{THEMES}</span></header>',
            f"<p>{escape(_streams(groups))}</p>",
            _warning(groups),
            _tables(comparison),
            f'<h2>Figures</h2>\n{_bands(groups)}<div class="figures">{_figures(groups)}</div>',
            f"<h2>Runs</h2>\n{''.join(map(_run, _runs(groups)))}",
            "</html>\n",
        ]
    )


def _bands(groups: Sequence[Group]) -> str:
    """The meaning of bands in figures, if there are any."""
    has_seeds = any(len(group.runs) > 1 for group in groups)
    return f"<p>{BANDS}</p>\n" if has_seeds else ""


def _streams(groups: Sequence[Group]) -> str:
    runs = list(_runs(groups))
    found = [
        f"{r.started.get('stream', 'a stream not started')} (fingerprint {_fingerprint(r)})" for r in runs
    ]
    streams, n = _listed(dict.fromkeys(found)), len(runs)
    return f"{n} {'run' if n == 1 else 'runs'} on {streams}."


def _warning(groups: Sequence[Group]) -> str:
    """Reasons why the numbers may not be comparable."""
    marks = {frozenset(map(_fingerprint, each.runs)) for each in groups}
    problems = {
        "their images differ": len(marks) > 1,
        "their numbers of tasks differ": len({each.n_tasks for each in groups}) > 1,
        "some were resumed on another machine and are not bit-exact": not all(
            run.record.is_exact for run in _runs(groups)
        ),
    }
    found = [problem for problem, is_found in problems.items() if is_found]
    return f'<p class="warning">Compare these runs with care: {_listed(found)}.</p>' if found else ""


def _tables(comparison: Comparison) -> str:
    """The results, and the cost."""
    columns = comparison.columns()
    run, results, cost = (
        [each for each in columns if each.section == section] for section in ("run", "results", "cost")
    )
    supervision = Column(
        "supervision",
        "what the learner is trained on",
        lambda group: str(group.runs[0].started.get("supervision", DASH)),
        "cost",
    )
    explained = [*columns[len(run) :], supervision]
    meanings = "".join(f"<dt>{each.heading}</dt><dd>{each.meaning}</dd>" for each in explained)
    return "\n".join(
        [
            _table(comparison, [*run, *results]),
            *(f"<p>{escape(note)}</p>" for note in comparison.notes),
            _table(comparison, [run[0], *cost, supervision]),
            f"<details><summary>What the numbers mean</summary><dl>{meanings}</dl></details>",
        ]
    )


def _table(comparison: Comparison, columns: Sequence[Column]) -> str:
    heads = "".join(f'<th title="{column.meaning}">{column.heading}</th>' for column in columns)
    rows = "\n".join(_table_row(number, group, columns) for number, group in enumerate(comparison.groups))
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


def _table_row(number: int, group: Group, columns: Sequence[Column]) -> str:
    swatch = f'<span class="swatch" style="background: var(--line-{number % len(STYLES["light"].colors)})">'
    more = f"<small>{escape(group.name)}</small>" if group.name != group.short else ""
    cells = "".join(f"<td>{escape(column.cell(group))}</td>" for column in columns[1:])
    return f"<tr><td>{swatch}</span>{escape(group.short)}{more}</td>{cells}</tr>"


def _figures(groups: Sequence[Group]) -> str:
    style, figures = STYLES["light"], []
    with use_style(style):
        for name, caption in captions().items():
            try:
                figure = get_drawing(name)(groups, style)
            except NothingToDraw:
                continue
            figures.append(f"<figure><figcaption>{caption}</figcaption>\n{inline_svg(figure)}</figure>")
    return "\n".join(figures)


def _run(run: RunResults) -> str:
    from everlearn.settings import write_toml

    record = run.record
    machine = ", ".join(f"{name} {value}" for name, value in record.machine.items() if name != "exact")
    facts = {
        "stream": str(run.started.get("stream", DASH)),
        "fingerprint": _fingerprint(run),
        "digest": record.digest,
        "spec": record.spec_hash,
        "tasks": f"{run.n_tasks} of {_counted(int(run.started.get('n_tasks', 0)))}",
        "machine": machine or DASH,
        **_retention(run),
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    head = f"<b>{escape(record.name or record.folder.name)}</b>{escape(record.spec['learner']['name'])}"
    seed = f"seed {record.spec['seed']}, digest {record.digest[:HASH_LENGTH]}"
    spec = escape(write_toml(record.spec))
    return f"<details><summary>{head}, {seed}</summary><dl>{listed}</dl><pre>{spec}</pre></details>\n"


def _retention(run: RunResults) -> dict[str, str]:
    """The retention of each probe of an unsupervised learner."""
    found = {}
    for environment, quantity in probe_keys(run.probe_results):
        form = format_score if quantity in ACCURACIES else format_error
        values = retention(run.probe_results, environment, quantity)._asdict()
        texts = (f"{name} {form(value)}" for name, value in values.items() if not math.isnan(value))
        found[f"{environment}, {quantity}"] = ", ".join(texts)
    return found


def _runs(groups: Iterable[Group]) -> Iterable[RunResults]:
    return (run for group in groups for run in group.runs)


def _fingerprint(run: RunResults) -> str:
    return str(run.started.get("fingerprint", DASH))


def _counted(n: int) -> str:
    return f"{n:,} task" + ("" if n == 1 else "s")


def _listed(words: Iterable[str]) -> str:
    """A list in a sentence, such as "dcl, er and naive"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
