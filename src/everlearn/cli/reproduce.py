"""`everlearn reproduce`: do a paper's figures again, and say whether they show what it claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.cli.arguments import Whole, check_path
from everlearn.cli.output import Answer, Screen, Shown
from everlearn.cli.sweep import Flag, Workers, planned
from everlearn.errors import BadInput, check_range, unknown

if TYPE_CHECKING:
    from everlearn.cli.progress import Outcome
    from everlearn.papers import Exhibit, Paper, Scale
    from everlearn.papers import page as pages
    from everlearn.runs.sweep import Job

ALL = "all"
RESULTS = Path("results")

Out = Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False, metavar="DIR")]
Folder = Annotated[Path, Parameter(metavar="DIR")]
First = Annotated[Whole | None, Parameter(show_default=False, metavar="N")]


def reproduce(
    *names: str,
    scale: str = "laptop",
    records: Folder = RESULTS,
    out: Out = None,
    workers: Workers = None,
    first: First = None,
    dry_run: Flag = False,
    screen: Shown,
) -> Answer:
    """Play what a figure of a paper needs and is not recorded yet, draw it, and judge its claims.

    Asked to stop (Ctrl-C), all runs save and end; the same command goes on from there. Ends with a page
    that sets each claim of the paper beside what was seen.

    Args:
        names: figure-3 to figure-10, table-1, appendix-agem, appendix-der, rivals; gnr-figure-1, gnr-table-1,
            gnr-table-2, gnr-figure-4, gnr-degradation; vase-table-1, vase-figure-2, vase-figure-3,
            vase-figure-4b, vase-figure-5, vase-returning, vase-larger, vase-closer, vase-choices; a
            whole paper (sprites, negative, vase), or all.
        scale: How large: laptop, smoke (a minute, to see that it works) or paper (for a GPU).
        records: Where the records are; what is finished there is not played again.
        out: Where the page and its figures go; beside the records if not said.
        workers: Runs at a time; one for each core if not said.
        first: Only the first N tasks of each run, in records of their own, on the GPU if there is one: a
            trial before long runs.
        dry_run: Only list the runs, and how long they will take.
        screen: Where progress is shown.
    """
    from everlearn.cli.progress import watch_jobs
    from everlearn.runs.sweep import Capacity, play_all

    parts = _parts(names, scale, first)
    jobs = _jobs(parts, check_path(records))
    capacity = Capacity(workers=workers)
    if dry_run:
        return planned(jobs, records, capacity.here)
    folder = check_path(out or records)
    story = play_all(jobs, capacity=capacity)
    _pretrain(jobs, parts, screen)
    outcome = watch_jobs(story, screen)
    return _told({folder / part.paper.page: _page(part, records, folder) for part in parts}, outcome)


@dataclass(frozen=True)
class _Part:
    """What was asked for of one paper."""

    paper: "Paper"
    exhibits: "Sequence[Exhibit]"
    scale: "Scale"


def _parts(names: Sequence[str], scale: str, first: int | None) -> list[_Part]:
    """What was asked for, paper by paper."""
    from everlearn.papers import PAPERS

    _check_names(names, PAPERS)
    parts = []
    for paper in PAPERS:
        whole = ALL in names or paper.name in names
        exhibits = [exhibit for exhibit in paper.exhibits if whole or exhibit.name in names]
        if exhibits:
            size = paper.scale(scale)
            parts.append(_Part(paper, exhibits, size if first is None else _begun(size, first)))
    return parts


def _check_names(names: Sequence[str], papers: "Sequence[Paper]") -> None:
    known = [exhibit.name for paper in papers for exhibit in paper.exhibits]
    known += [*(paper.name for paper in papers), ALL]
    if not names:
        raise BadInput(f"say what to reproduce: {', '.join(known[:-1])}, or {ALL}")
    for name in names:
        if name not in known:
            raise unknown("figure or table", name, known)


def _begun(scale: "Scale", n_tasks: int) -> "Scale":
    import torch

    check_range("first", n_tasks, 1, 1_000_000)
    return scale.begun(n_tasks, "cuda" if torch.cuda.is_available() else "cpu")


def _jobs(parts: Sequence[_Part], records: Path) -> "list[Job]":
    """What all of them need, each run once."""
    jobs = [job for part in parts for exhibit in part.exhibits for job in exhibit.jobs(part.scale, records)]
    return list({job.folder: job for job in jobs}.values())


def _pretrain(jobs: "Sequence[Job]", parts: Sequence[_Part], screen: Screen) -> None:
    """Train the networks that missing runs start from, where they are to be trained here."""
    from everlearn import streams
    from everlearn.cli.pretrain import CLOTHES, VIT, teach
    from everlearn.papers.exhibit import Start
    from everlearn.runs.sweep import missing

    known = {path: start for part in parts for path, start in part.paper.starts.items()}
    prompted = {_weights(job): Start(VIT, CLOTHES) for job in jobs if job.spec.learner.name == "l2p"}
    for path in sorted({_weights(job) for job in jobs if missing(job)}):
        start = (prompted | known).get(path)
        if start and path and not path.startswith("hub:") and not Path(path).exists():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            how = {"epochs": start.epochs, "learning_rate": start.learning_rate}
            teach(streams.build(start.stream), Path(path), screen, start.backbone, **how)


def _weights(job: "Job") -> str:
    return str(job.spec.learner.settings.get("weights", ""))


def _page(part: _Part, records: Path, folder: Path) -> "list[pages.Shown]":
    from everlearn import files
    from everlearn.papers import page as pages

    shown = [pages.look_at(exhibit, part.scale, records) for exhibit in part.exhibits]
    files.make_folder(folder / pages.FIGURES)
    for each in shown:
        pages.draw(each, folder)
    files.write(folder / part.paper.page, pages.page(shown, part.scale, part.paper.title).encode())
    return shown


def _told(shown: "dict[Path, list[pages.Shown]]", outcome: "Outcome") -> Answer:
    claims = [
        _fact(each, number)
        for page in shown.values()
        for each in page
        for number in range(len(each.verdicts))
    ]
    facts = {"pages": [str(page) for page in shown], "claims": claims, **outcome.facts()}
    return Answer(facts, lambda: _view(facts, outcome), outcome.code)


def _fact(shown: "pages.Shown", number: int) -> dict[str, Any]:
    claim, verdict = shown.exhibit.claims[number], shown.verdicts[number]
    return {
        "exhibit": shown.exhibit.name,
        "claim": claim.words,
        "holds": None if verdict is None else verdict.holds,
        "saw": None if verdict is None else verdict.saw,
    }


def _view(facts: dict[str, Any], outcome: "Outcome") -> Any:
    from rich.console import Group

    from everlearn.cli.output import table

    words = {True: "yes", False: "no", None: "–"}
    rows = [
        (each["exhibit"], each["claim"], words[each["holds"]], each["saw"] or "") for each in facts["claims"]
    ]
    where = f"Read {' and '.join(facts['pages'])}; the figures are beside"
    return Group(table(("", "the paper says", "here", "seen"), rows), *outcome.lines(), where)
