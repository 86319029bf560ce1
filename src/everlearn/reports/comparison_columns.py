"""Columns of a comparison: what each shows of a group of runs."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from everlearn.evaluation import formatting
from everlearn.evaluation.formatting import DASH, Format, format_amount, format_error, format_score
from everlearn.evaluation.intervals import MIN_FOR_INTERVAL, NOT_NEGATIVE, interval_over
from everlearn.reports.groups import Group

Section = Literal["run", "results", "cost"]


class Column(NamedTuple):
    """A column of a comparison."""

    heading: str  # one or two words
    meaning: str  # what the number is
    cell: Callable[[Group], str]  # its text for a group
    section: Section  # the table it belongs to


def _column(heading: str, meaning: str, measure: str, form: Format) -> Column:
    section: Section = "results" if form in (format_score, format_error) else "cost"
    return Column(heading, meaning, lambda group: form(group.intervals[measure]), section)


def changes_found(group: Group) -> str:
    """Correctly detected environment changes, of all changes, summed over seeds."""
    rows = detections(group)
    n_correct, n_changes = (sum(int(row[name]) for row in rows) for name in ("n_correct", "n_changes"))
    return f"{n_correct} of {n_changes}" if rows else DASH


def max_delay(group: Group) -> str:
    """The largest delay of a detected change, over seeds."""
    delays = [row["max_delay"] for row in detections(group) if row["max_delay"] is not None]
    return f"{max(delays):.0f}" if delays else DASH


def false_alarms(group: Group) -> str:
    """Falsely inferred environments per 10,000 batches."""
    return format_score(interval_over([row["false_new_rate"] for row in detections(group)], NOT_NEGATIVE))


def used_latents(group: Group) -> str:
    """For each seed the latents that are used in some environment, and (in several)."""
    counts = [
        np.array([each["used"] for each in result["latents"]]).sum(axis=0)
        for result in group.results_of("environments")
    ]
    return ", ".join(f"{(n > 0).sum()} ({(n > 1).sum()})" for n in counts) or DASH


def detections(group: Group) -> list[Mapping[str, Any]]:
    """Detection scores of each seed."""
    return [row["detection"] for row in group.results_of("environments") if row["detection"]]


def each_seed(group: Group) -> str:
    """The final accuracy of each seed, if there are several but too few for an interval."""
    values = [run.measures()["average_accuracy"] for run in group.runs]
    is_shown = 1 < len(values) < MIN_FOR_INTERVAL and not any(map(math.isnan, values))
    return ", ".join(f"{value:.3f}" for value in values) if is_shown else DASH


def answer_cost(group: Group) -> str:
    """FLOPs, if they are known, and milliseconds of one prediction."""
    flops, milliseconds = (group.intervals[name] for name in ("answer_flops", "answer_ms"))
    if milliseconds is None:
        return DASH
    known = "" if flops is None else f"{format_amount(flops)}, "
    return f"{known}{format_error(milliseconds.mean)} ms"


FORWARD = (
    "forward transfer: accuracy on tasks before they are learned, above chance; undefined for new labels"
)
CHANGE = "from the end of the environment to the end of the run"
AFTER = "from the end of the environment to the mean of the ends of later ones"
ANSWER = (
    "FLOPs and milliseconds of one prediction by `everlearn evaluate answer-cost`; else milliseconds of "
    "evaluations"
)
EACH_SEED = "accuracy of each seed"
OBJECT = "accuracy of object probes of environments before the last"
POSITION = "mean squared error of their position probes"

COLUMNS = (
    Column("learner", "the learner and its distinguishing settings", lambda group: group.short, "run"),
    Column("tasks", "tasks learned", lambda group: _tasks(group), "run"),
    Column("seeds", "runs that differ in their seeds only", lambda group: str(len(group.runs)), "run"),
    _column("accuracy", "mean over all tasks at the end", "average_accuracy", format_score),
    _column("incremental", "mean over all evaluations", "average_incremental_accuracy", format_score),
    _column("forgetting", "mean drop of earlier tasks from their best", "forgetting", format_score),
    _column("backward", "backward transfer: change since learned", "backward_transfer", format_score),
    _column("forward", FORWARD, "forward_transfer", format_score),
    _column("LCA", "mean accuracy over the first 10 batches of a task", "learning_curve_area", format_score),
    _column("worst case", "worst-case accuracy, at every evaluation", "worst_case_accuracy", format_score),
    _column("probe acc.", f"{OBJECT} at the end", "object_final", format_score),
    _column("best", f"{OBJECT}, best at the end of a task", "object_best", format_score),
    _column("Δ stage→end", f"{OBJECT}, {CHANGE}", "object_change", format_score),
    _column("Δ after", f"{OBJECT}, {AFTER}", "object_after", format_score),
    _column("position MSE", f"{POSITION} at the end", "position_final", format_error),
    _column("best MSE", f"{POSITION}, best at the end of a task", "position_best", format_error),
    _column("Δ MSE", f"{POSITION}, {CHANGE}", "position_change", format_error),
    _column("Δ MSE after", f"{POSITION}, {AFTER}", "position_after", format_error),
    Column("changes found", "environment changes detected correctly, of all", changes_found, "results"),
    Column("delay", "largest delay of a detected change in batches", max_delay, "results"),
    Column("false alarms", "falsely inferred environments per 10,000 batches", false_alarms, "results"),
    Column("latents", "used latents for each seed (in several environments)", used_latents, "results"),
    _column("time", "training time on its machine", "seconds", formatting.format_duration),
    _column("images", "training images, counted once per use", "images", format_amount),
    _column("FLOPs", "estimated floating-point operations of training", "flops", format_amount),
    _column("weights", "bytes of parameters", "weights_bytes", formatting.format_bytes),
    _column("memory", "bytes of stored data", "memory_bytes", formatting.format_bytes),
    _column("bytes", "bytes of parameters and stored data", "bytes", formatting.format_bytes),
    Column("answer", ANSWER, answer_cost, "cost"),
)


def is_finished(group: Group) -> bool:
    """Whether all runs have learned all of their tasks."""
    return all(run.started.get("n_tasks") == run.n_tasks for run in group.runs)


def _tasks(group: Group) -> str:
    if is_finished(group):
        return str(group.n_tasks)
    return f"{group.n_tasks} of {group.runs[0].started.get('n_tasks', '?')}"
