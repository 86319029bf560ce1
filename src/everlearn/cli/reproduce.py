"""`everlearn reproduce`: do a paper's figures again, and say whether they show what it claims."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.cli.answer import Answer, Screen, Shown
from everlearn.cli.reading import check_path
from everlearn.cli.sweep import Flag, Workers, planned
from everlearn.errors import BadInput, unknown

if TYPE_CHECKING:
    from everlearn.cli.watch_jobs import Outcome
    from everlearn.papers import Exhibit, Scale
    from everlearn.papers import page as pages
    from everlearn.runs.jobs import Job

ALL = "all"
RESULTS = Path("results")
PAGE = "results.md"
TITLE = "Infinite dSprites, done again"

Out = Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False, metavar="DIR")]
Folder = Annotated[Path, Parameter(metavar="DIR")]


def reproduce(
    *names: str,
    scale: str = "laptop",
    records: Folder = RESULTS,
    out: Out = None,
    workers: Workers = None,
    dry_run: Flag = False,
    screen: Shown,
) -> Answer:
    """Play what a figure of the paper needs and is not recorded yet, draw it, and judge its claims.

    Asked to stop (Ctrl-C), all runs save and end; the same command goes on from there. Ends with a page
    that sets each claim of the paper beside what was seen.

    Args:
        names: figure-3 to figure-10, table-1, appendix-agem, appendix-der, rivals, or all.
        scale: How large: laptop, smoke (a minute, to see that it works) or paper (for a GPU).
        records: Where the records are; what is finished there is not played again.
        out: Where results.md and its figures go; beside the records if not said.
        workers: Runs at a time; one for each core if not said.
        dry_run: Only list the runs, and how long they will take.
        screen: Where progress is shown.
    """
    from everlearn.cli.watch_jobs import watch_jobs
    from everlearn.runs.jobs import Capacity, play_all

    size, exhibits = _scale(scale), _exhibits(names)
    jobs = _jobs(exhibits, size, check_path(records))
    capacity = Capacity() if workers is None else Capacity(workers=workers)
    if dry_run:
        return planned(jobs, records, capacity.workers)
    folder = check_path(out or records)
    story = play_all(jobs, capacity=capacity)
    _pretrain(jobs, screen)
    outcome = watch_jobs(story, screen)
    return _told(_page(exhibits, size, records, folder), folder / PAGE, outcome)


def _scale(name: str) -> "Scale":
    from everlearn.papers.sprites import SCALES

    known = {scale.name: scale for scale in SCALES}
    if name not in known:
        raise unknown("scale", name, known)
    return known[name]


def _exhibits(names: Sequence[str]) -> "list[Exhibit]":
    from everlearn.papers.sprites import EXHIBITS

    known = {exhibit.name: exhibit for exhibit in EXHIBITS}
    if not names:
        raise BadInput(f"say what to reproduce: {', '.join(known)}, or {ALL}")
    for name in names:
        if name not in known and name != ALL:
            raise unknown("figure or table", name, [*known, ALL])
    return list(EXHIBITS) if ALL in names else [known[name] for name in dict.fromkeys(names)]


def _jobs(exhibits: "Sequence[Exhibit]", scale: "Scale", records: Path) -> "list[Job]":
    """What all of them need, each run once."""
    jobs = [job for exhibit in exhibits for job in exhibit.jobs(scale, records)]
    return list({job.folder: job for job in jobs}.values())


def _pretrain(jobs: "Sequence[Job]", screen: Screen) -> None:
    """Train the networks that missing runs start from, where they are to be trained here."""
    from everlearn.cli.pretraining import pretrain
    from everlearn.runs.jobs import missing

    wanted = {job.spec.learner.settings.get("weights") for job in jobs if missing(job)}
    for path in sorted(filter(None, wanted)):
        if not path.startswith("hub:") and not Path(path).exists():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            pretrain(out=Path(path), screen=screen)


def _page(exhibits: "Sequence[Exhibit]", scale: "Scale", records: Path, folder: Path) -> "list[pages.Shown]":
    from everlearn import files
    from everlearn.papers import page as pages

    shown = [pages.look_at(exhibit, scale, records) for exhibit in exhibits]
    files.make_folder(folder / pages.FIGURES)
    for each in shown:
        pages.draw(each, folder)
    files.write(folder / PAGE, pages.page(shown, scale, TITLE).encode())
    return shown


def _told(shown: "Sequence[pages.Shown]", page: Path, outcome: "Outcome") -> Answer:
    claims = [_fact(each, number) for each in shown for number in range(len(each.verdicts))]
    facts = {"page": str(page), "claims": claims, **outcome.facts()}
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

    from everlearn.cli.catalogue import table

    words = {True: "yes", False: "no", None: "–"}
    rows = [
        (each["exhibit"], each["claim"], words[each["holds"]], each["saw"] or "") for each in facts["claims"]
    ]
    where = f"The page is {facts['page']}; its figures are beside it"
    return Group(table(("", "the paper says", "here", "seen"), rows), *outcome.lines(), where)
