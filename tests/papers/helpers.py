"""Run results with given numbers, verdicts on them, and experiments that are run at smoke scale."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from everlearn.evaluation import Row
from everlearn.papers import Paper
from everlearn.papers.report import Reproduction
from everlearn.reports.groups import Group
from everlearn.reports.run_results import EvaluationResult, RunResults
from everlearn.runs.sweep import Capacity, run_jobs

if TYPE_CHECKING:
    from everlearn.runs import Record

NO_RECORD = cast("Record", None)
N_IMAGES = 1000
"""Test images per task."""


def group(runs: Iterable[RunResults]) -> Group:
    """A group whose runs have the seeds 0, 1, ..."""
    found = tuple(runs)
    for seed, run in enumerate(found):
        run.__dict__["seeds"] = (seed, seed)
    return Group("test", "test", found)


def with_results(run: RunResults, results: Mapping[str, Any]) -> RunResults:
    """Give a run the results of protocols."""
    run.__dict__["protocol_results"] = results
    return run


def protocol_group(*results: Mapping[str, Any]) -> Group:
    """A run for each set of results of protocols."""
    return group(with_results(RunResults(NO_RECORD, (), 1.0), each) for each in results)


def accuracy_group(*curves: Sequence[float]) -> Group:
    """A run for each curve; its accuracy after task k is curve[k - 1], the same on every task seen."""
    return group(map(_accuracy_run, curves))


def _accuracy_run(curve: Sequence[float]) -> RunResults:
    rows = [
        Row.from_counts(k, list(range(k + 1)), [round(N_IMAGES * value)] * (k + 1), [N_IMAGES] * (k + 1))
        for k, value in enumerate(curve)
    ]
    run = RunResults(NO_RECORD, tuple(EvaluationResult(row, None, {}) for row in rows), 1.0)
    run.ended = [{"n_images": 1} for _ in curve]
    return run


def run_smoke(paper: Paper, name: str, folder: Path) -> Reproduction:
    """Run an experiment at smoke scale, check its claims and draw its figure."""
    (experiment,) = (each for each in paper.experiments if each.name == name)
    scale = paper.scale("smoke")
    for _ in run_jobs(experiment.jobs(scale, folder), capacity=Capacity(workers=1)):
        pass
    found = Reproduction.from_records(experiment, scale, folder)
    assert [each is not None for each in found.verdicts] == [True] * len(experiment.claims)
    (folder / "figures").mkdir()
    figure = found.write_figure(folder)
    assert figure is not None
    assert figure.read_text().startswith("<?xml")
    return found
