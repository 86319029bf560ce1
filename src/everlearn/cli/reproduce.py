"""`everlearn reproduce`: reproduce figures and tables of papers and check their claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import Flag, check_path
from everlearn.cli.output import CommandResult, Console, ConsoleArg, table
from everlearn.cli.sweep import OptionalInt, default_gpus, plan
from everlearn.errors import BadInput, check_range, unknown
from everlearn.runs import sweep as sweeps

if TYPE_CHECKING:
    from everlearn.cli.progress import SweepOutcome
    from everlearn.papers import Experiment, Paper, Scale
    from everlearn.papers.report import Reproduction

ALL = "all"
MAX_TASKS = 1_000_000

Out = Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False, metavar="DIR")]
Folder = Annotated[Path, Parameter(metavar="DIR")]


def reproduce(
    *names: str,
    scale: str = "laptop",
    records: Folder = Path("results"),
    out: Out = None,
    workers: OptionalInt = None,
    first: OptionalInt = None,
    dry_run: Flag = False,
    console: ConsoleArg,
) -> CommandResult:
    """Reproduce figures and tables of papers: run what is missing, draw the figures, check the claims.

    Ctrl-C saves and stops all runs; the same command resumes them. Writes a page with each claim of the
    paper and the verdict on it.

    Args:
        names: figure-3 to figure-10, figure-4-start, table-1, appendix-agem, appendix-der,
            replay-vs-joint; gnr-figure-1, gnr-table-1, gnr-figure-4, gnr-table-2, gnr-figure-6,
            gnr-quality, gnr-normalization, gnr-generator, gnr-rates, gnr-layers, gnr-sprites;
            vase-table-1, vase-figure-2, vase-figure-3, vase-figure-4b, vase-figure-5, vase-long,
            vase-recurring, vase-large-objects, vase-choices; a whole paper (sprites, gnr, vase), or all.
        scale: laptop, smoke (takes a minute, to test the setup) or paper (needs a GPU).
        records: Folder of the records; finished runs are not repeated.
        out: Folder of the page and its figures; default: the folder of the records.
        workers: Number of parallel runs; default: one per core.
        first: Only the first N tasks of each run, in separate records, on the GPU if there is one: a test
            before long runs.
        dry_run: Only list the runs and the estimated time.
    """
    from everlearn.cli.progress import show_sweep

    requests = _requests(names, scale, first)
    jobs = _jobs(requests, check_path(records))
    capacity = sweeps.Capacity(workers=workers, gpus=default_gpus(jobs))
    if dry_run:
        return plan(jobs, records, sweeps.LocalExecutor(capacity).workers)
    folder = check_path(out or records)
    events = sweeps.run_jobs(jobs, capacity=capacity)
    _pretrain(jobs, requests, console)
    outcome = show_sweep(events, console)
    pages = {folder / each.paper.page: _write_page(each, records, folder) for each in requests}
    return _result(pages, outcome)


@dataclass(frozen=True)
class _Request:
    """The requested experiments of one paper."""

    paper: "Paper"
    experiments: "Sequence[Experiment]"
    scale: "Scale"


def _requests(names: Sequence[str], scale: str, first: int | None) -> list[_Request]:
    from everlearn.papers import PAPERS

    _check_names(names, PAPERS)
    requests = []
    for paper in PAPERS:
        is_whole = ALL in names or paper.name in names
        experiments = [each for each in paper.experiments if is_whole or each.name in names]
        if experiments:
            size = paper.scale(scale)
            size = size if first is None else _first_tasks(size, first)
            requests.append(_Request(paper, experiments, size))
    return requests


def _check_names(names: Sequence[str], papers: "Sequence[Paper]") -> None:
    known = [experiment.name for paper in papers for experiment in paper.experiments]
    known += [*(paper.name for paper in papers), ALL]
    if not names:
        raise BadInput(f"name what to reproduce: {', '.join(known[:-1])}, or {ALL}")
    for name in names:
        if name not in known:
            raise unknown("figure or table", name, known)


def _first_tasks(scale: "Scale", n_tasks: int) -> "Scale":
    import torch

    check_range("first", n_tasks, 1, MAX_TASKS)
    return scale.first_tasks(n_tasks, "cuda" if torch.cuda.is_available() else "cpu")


def _jobs(requests: Sequence[_Request], records: Path) -> "list[sweeps.Job]":
    """All runs that are needed, each once."""
    jobs = [job for each in requests for what in each.experiments for job in what.jobs(each.scale, records)]
    return list({job.folder: job for job in jobs}.values())


def _pretrain(jobs: "Sequence[sweeps.Job]", requests: Sequence[_Request], console: Console) -> None:
    """Pretrain the networks that pending runs start from, unless their files exist."""
    from everlearn import streams
    from everlearn.cli.pretrain import FASHION, VIT, pretrain_backbone
    from everlearn.papers.experiment import PretrainSpec

    known = {_weights(job): PretrainSpec(VIT, FASHION) for job in jobs if job.spec.learner.name == "l2p"}
    known |= {path: spec for each in requests for path, spec in each.paper.pretrained.items()}
    for path in sorted({_weights(job) for job in jobs if sweeps.pending_commands(job)}):
        spec = known.get(path)
        if spec and path and not path.startswith("hub:") and not Path(path).exists():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            options = {"epochs": spec.epochs, "learning_rate": spec.learning_rate}
            pretrain_backbone(streams.build(spec.stream), Path(path), console, spec.backbone, **options)


def _weights(job: "sweeps.Job") -> str:
    return str(job.spec.learner.settings.get("weights", ""))


def _write_page(request: _Request, records: Path, folder: Path) -> "list[Reproduction]":
    from everlearn.papers.report import FIGURES, Reproduction, write_page

    found = [Reproduction.from_records(each, request.scale, records) for each in request.experiments]
    files.make_folder(folder / FIGURES)
    for each in found:
        each.write_figure(folder)
    write_page(folder / request.paper.page, found, request.scale, request.paper.title)
    return found


def _result(pages: "dict[Path, list[Reproduction]]", outcome: "SweepOutcome") -> CommandResult:
    from everlearn.papers.report import NOT_RUN

    claims = [
        {
            "experiment": each.experiment.name,
            "claim": claim.text,
            "is_ours": claim.is_ours,
            "holds": None if verdict is None else verdict.holds,
            "verdict": NOT_RUN if verdict is None else verdict.mark,
            "observed": None if verdict is None else verdict.observed,
        }
        for found in pages.values()
        for each in found
        for claim, verdict in zip(each.experiment.claims, each.verdicts, strict=True)
    ]
    data = {"pages": [str(page) for page in pages], "claims": claims, **outcome.data()}
    return CommandResult(data, lambda: _overview(data, outcome), outcome.exit_code)


def _overview(data: dict[str, Any], outcome: "SweepOutcome") -> Any:
    from rich.console import Group

    rows = [
        (each["experiment"], each["claim"], each["verdict"], each["observed"] or "")
        for each in data["claims"]
    ]
    written = f"Wrote {' and '.join(data['pages'])} and the figures"
    return Group(table(("", "claim", "reproduced", "observed"), rows), *outcome.messages(), written)
