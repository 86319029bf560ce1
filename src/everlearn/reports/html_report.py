"""One page that holds everything: no script, no network, dark and light."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from everlearn import files
from everlearn.evaluation.probes import ACCURACIES, probes_of, retention
from everlearn.reports.comparison import Column, Comparison, compare
from everlearn.reports.figures import DRAWINGS, FIGURES, check_path
from everlearn.reports.formatting import DASH, digits, exactly, share
from everlearn.reports.groups import Group
from everlearn.reports.run_figures import NothingToDraw
from everlearn.reports.run_results import Findings
from everlearn.reports.style import LOOKS, inlined, worn

if TYPE_CHECKING:
    from everlearn.runs import Record


ALONE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What the page allows a browser to load: nothing that is not in it."""
QUIET, RAISED = ("#59616c", "#a3acb8"), ("#f4f6f8", "#1c2128")
PARTS = ("played", "well", "cost")
NOTE = "± is half of a 95 % confidence interval over seeds (Student)."
SHORT = 16
"""Characters of a hash that are shown where the whole would not be read."""


def html(records: Sequence["Record"], path: Path | str) -> Path:
    """Write a report: what was played, how it went, in tables and figures, as one file.

    Equal records give equal bytes. A figure that the records have nothing for is left out.

    Args:
        records: the runs; those that differ only in their seeds are taken together.
        path: the .html file to write; its folder must exist.
    """
    path = Path(path)
    check_path(path, (".html", ".htm"))
    files.write(path, _page(compare(records)).encode())
    return path


def _page(comparison: Comparison) -> str:
    groups = comparison.groups
    learners = dict.fromkeys(run.record.spec["learner"]["name"] for run in _runs(groups))
    title = f"{_listed(learners)} over {_counted(max(each.n_tasks for each in groups))}"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{ALONE}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>\n{_style()}</style>",
            f"<header><h1>{escape(title)}</h1>{_switch()}</header>",
            f"<p>{escape(_what_was_met(groups))}</p>",
            _warning(groups),
            _tables(comparison),
            f'<h2>Figures</h2>\n<div class="figures">{_figures(groups)}</div>',
            f"<h2>Runs</h2>\n{''.join(_run(run) for each in groups for run in each.runs)}",
            "</html>\n",
        ]
    )


def colour_css() -> str:
    """CSS variables for all colours, in light and dark.

    Example:
        >>> "--ink: light-dark(#1f2328, #e6e9ee);" in colour_css()
        True
    """
    paper, dark = LOOKS["paper"].roles, LOOKS["dark"].roles
    pairs = {role: (paper[role], dark[role]) for role in paper} | {"quiet": QUIET, "raised": RAISED}
    lines = (f"  --{role}: light-dark({day}, {night});\n" for role, (day, night) in pairs.items())
    return f":root {{\n{''.join(lines)}}}\n"


def _style() -> str:
    return colour_css() + resources.files("everlearn.reports").joinpath("page.css").read_text("utf-8")


def _switch() -> str:
    choices = [("auto", " checked"), ("light", ""), ("dark", "")]
    return '<span class="looks">{}</span>'.format(
        "".join(
            f'<label><input type="radio" name="look" id="{name}"{checked}> {name}</label>'
            for name, checked in choices
        )
    )


def _what_was_met(groups: Sequence[Group]) -> str:
    met = {(run.started.get("stream", "a stream not begun"), _fingerprint(run)): 0 for run in _runs(groups)}
    streams = _listed(f"{stream} (fingerprint {mark})" for stream, mark in met)
    n = len(list(_runs(groups)))
    return f"{n} {'run' if n == 1 else 'runs'} on {streams}."


def _warning(groups: Sequence[Group]) -> str:
    """What makes the numbers less comparable than a table suggests."""
    marks = {frozenset(map(_fingerprint, each.runs)) for each in groups}
    problems = [
        "they did not meet the same images" if len(marks) > 1 else "",
        "they did not play the same number of tasks" if len({each.n_tasks for each in groups}) > 1 else "",
        "some were resumed on another machine, so that their last bits are not sure"
        if not all(run.record.is_exact for run in _runs(groups))
        else "",
    ]
    told = [problem for problem in problems if problem]
    return f'<p class="warning">Compare these runs with care: {_listed(told)}.</p>' if told else ""


def _tables(comparison: Comparison) -> str:
    """How well it went, and at what cost."""
    columns = comparison.columns()
    played, well, cost = ([each for each in columns if each.part == part] for part in PARTS)
    given = Column("is given", "what the learner may use", _given, "cost")
    meanings = "".join(f"<dt>{each.heading}</dt><dd>{each.meaning}</dd>" for each in [*columns[3:], given])
    return "\n".join(
        [
            _table(comparison, [*played, *well]),
            f"<p>{NOTE}</p>" if any(len(group.runs) > 1 for group in comparison.groups) else "",
            _table(comparison, [played[0], *cost, given]),
            f"<details><summary>What the numbers mean</summary><dl>{meanings}</dl></details>",
        ]
    )


def _table(comparison: Comparison, columns: Sequence[Column]) -> str:
    heads = "".join(f'<th title="{column.meaning}">{column.heading}</th>' for column in columns)
    rows = "\n".join(_table_row(number, group, columns) for number, group in enumerate(comparison.groups))
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


def _table_row(number: int, group: Group, columns: Sequence[Column]) -> str:
    swatch = f'<span class="swatch" style="background: var(--line-{number % len(LOOKS["paper"].colours)})">'
    more = f"<small>{escape(group.name)}</small>" if group.name != group.short else ""
    cells = "".join(f"<td>{escape(column.cell(group))}</td>" for column in columns[1:])
    return f"<tr><td>{swatch}</span>{escape(group.short)}{more}</td>{cells}</tr>"


def _given(group: Group) -> str:
    return str(group.runs[0].started.get("given", DASH))


def _figures(groups: Sequence[Group]) -> str:
    look, drawn = LOOKS["paper"], []
    with worn(look):
        for kind, draw in DRAWINGS.items():
            try:
                figure = draw(groups, look)
            except NothingToDraw:
                continue
            drawn.append(f"<figure><figcaption>{FIGURES[kind]}</figcaption>\n{inlined(figure)}</figure>")
    return "\n".join(drawn)


def _run(run: Findings) -> str:
    from everlearn.settings import write_toml

    record = run.record
    machine = ", ".join(f"{name} {value}" for name, value in record.machine.items() if name != "exact")
    facts = {
        "stream": str(run.started.get("stream", DASH)),
        "fingerprint": _fingerprint(run),
        "digest": record.digest,
        "spec": record.spec_hash,
        "played": f"{run.n_tasks} of {_counted(int(run.started.get('n_tasks', 0)))}",
        "machine": machine or DASH,
        **_kept(run),
    }
    listed = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    head = f"<b>{escape(record.name or record.folder.name)}</b>{escape(record.spec['learner']['name'])}"
    seed = f"seed {record.spec['seed']}, digest {record.digest[:SHORT]}"
    spec = escape(write_toml(record.spec))
    return f"<details><summary>{head}, {seed}</summary><dl>{listed}</dl><pre>{spec}</pre></details>\n"


def _kept(run: Findings) -> dict[str, str]:
    """What became of each probe of a learner that answers nothing."""
    found = {}
    for place, quantity in probes_of(run.probings):
        form = share if quantity in ACCURACIES else digits
        kept = retention(run.probings, place, quantity)
        words = (f"{name} {form(exactly(value))}" for name, value in kept._asdict().items() if value == value)
        found[f"{place}, {quantity}"] = ", ".join(words)
    return found


def _runs(groups: Iterable[Group]) -> Iterable[Findings]:
    return (run for group in groups for run in group.runs)


def _fingerprint(run: Findings) -> str:
    return str(run.started.get("fingerprint", DASH))


def _counted(n: int) -> str:
    return f"{n:,} task" + ("" if n == 1 else "s")


def _listed(words: Iterable[str]) -> str:
    """Words as one would say them.

    Example:
        >>> _listed(["dcl", "er", "naive"])
        'dcl, er and naive'
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
