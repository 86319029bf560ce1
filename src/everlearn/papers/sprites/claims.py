"""Checks of claims about accuracy over tasks, one-shot learning, open-set and multiple-choice tests."""

from itertools import pairwise

from everlearn.evaluation.protocols.multiple_choice import MultipleChoiceResult, pool_scores
from everlearn.papers.claims import RunMetric, listed, protocol_results
from everlearn.papers.experiment import Check, Groups, Verdict
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

EARLY = 10
"""Number of tasks after which regularisation has failed according to the paper."""
DROP = 0.05
"""A decrease of accuracy larger than noise."""
TOLERANCE = 0.005
"""A difference from a number of the paper that its rounding to two decimals explains."""

FIRST_CHANCE = 0.1
"""Chance level of the first task, which has ten classes."""

FORGETTING = RunMetric("forgetting", lambda run: list(run.forgetting().values())[-1])
FIRST_ACCURACY = RunMetric("accuracy after the first task", lambda run: next(iter(run.accuracy().values())))


def if_learned(check: Check) -> Check:
    """A check that is not comparable if some series never learned a task: at most twice chance on it."""

    def checked(groups: Groups) -> Verdict:
        first = {name: _first_task_accuracy(group) for name, group in groups.items()}
        poor = {name: value for name, value in first.items() if value <= 2 * FIRST_CHANCE}
        verdict = check(groups)
        if not poor:
            return verdict
        reason = f"not learned: {listed(poor)} on the first task evaluated, chance {FIRST_CHANCE:g}"
        return Verdict(None, f"{verdict.observed}; {reason}")

    return checked


def collapses(groups: Groups) -> Verdict:
    """Little more than the accuracy on the latest task is left."""
    n = _n_common(groups)
    early, end = _after(groups, EARLY), _after(groups, n)
    holds = max(early.values()) <= 2 / EARLY and max(end.values()) <= 2 / n
    reference = f"(a learner that knows only the latest task scores {1 / n:.3f})"
    observed = f"after {EARLY} tasks: {listed(early)}; after {n} tasks: {listed(end)} {reference}"
    return Verdict(holds, observed, _is_one_seed(groups))


def retains(groups: Groups) -> Verdict:
    """The first series is above all others after the tasks they share, and keeps its best accuracy."""
    name, n = next(iter(groups)), _n_common(groups)
    there, (_, end, n_tasks) = _after(groups, n), _ends(groups[name])
    holds = there[name] == max(there.values()) and end > _best(groups[name]) - DROP
    observed = f"after {n} tasks: {listed(there)}; {name} after {n_tasks} tasks: {end:.3f}"
    return Verdict(holds, observed, _is_one_seed(groups))


def increases(groups: Groups) -> Verdict:
    """Accuracy after the tasks that all share increases from each series to the next under every seed."""
    n = _n_common(groups)
    steps = pairwise([_each_after(group, n) for group in groups.values()])
    holds = all(low < high for below, above in steps for low, high in zip(below, above, strict=False))
    return Verdict(holds, f"after {n} tasks: {listed(_after(groups, n))}", _is_one_seed(groups))


def decays(groups: Groups) -> Verdict:
    """Accuracy ends below its maximum since the first tasks."""
    drop = {name: _best(group, since=EARLY) - _ends(group)[1] for name, group in groups.items()}
    return Verdict(
        min(drop.values()) > DROP, f"drop since task {EARLY}: {listed(drop)}", _is_one_seed(groups)
    )


def loses_half(groups: Groups) -> Verdict:
    """Less than half of the accuracy after the first task is left at the end."""
    ((start, end, n),) = map(_ends, groups.values())
    observed = f"{start:.3f} after the first task, {end:.3f} after {n} tasks"
    return Verdict(end < start / 2, observed, _is_one_seed(groups))


def improves(groups: Groups) -> Verdict:
    """Final accuracy is above the accuracy after the first task."""
    ((start, end, _),) = map(_ends, groups.values())
    return Verdict(end > start, f"{start:.4f} after the first task, {end:.4f} at the end")


def above_chance(groups: Groups) -> Verdict:
    """Final accuracy is more than three times chance level, with ten classes per task."""
    ((_, value, n),) = map(_ends, groups.values())
    chance = 1 / (10 * n)
    return Verdict(value > 3 * chance, f"{value:.3f} with {10 * n:,} classes; chance {chance:.4f}")


def one_shot(n_new: int, setting: str, paper: float) -> Check:
    """New classes are learned from one image each as accurately as the paper reports."""

    def check(groups: Groups) -> Verdict:
        values = [
            next((float(each[setting]) for each in result["shots"] if each["n_new"] == n_new), 0.0)
            for result in protocol_results(groups, "one-shot")
        ]
        mean, observed = sum(values) / len(values), f"minimum of {len(values)} seeds {min(values):.4f}"
        return Verdict(mean >= paper - TOLERANCE, f"{mean:.4f} ({observed})")

    return check


def open_set(paper: float) -> Check:
    """Unknown classes are rejected as well as the paper reports."""
    curves = {"acceptance": "curve of the paper", "precision_recall": "precision-recall", "roc": "ROC"}

    def check(groups: Groups) -> Verdict:
        results = protocol_results(groups, "open-set")
        means = (sum(result[curve]["area"] for result in results) / len(results) for curve in curves)
        areas = dict(zip(curves.values(), means, strict=True))
        return Verdict(areas[curves["acceptance"]] >= paper, f"areas: {listed(areas)}")

    return check


def few_false_accepts(groups: Groups) -> Verdict:
    """Fewer than half of the images of unknown classes are accepted."""
    results = protocol_results(groups, "open-set")
    n_new, n_known = (sum(result[name] for result in results) for name in ("n_new", "n_known"))
    n_accepted = sum(round((1 - result["rejected"]) * result["n_new"]) for result in results)
    n_refused = sum(round((1 - result["accepted"]) * result["n_known"]) for result in results)
    shares = (
        f"{n_accepted:,} of {n_new:,} new images accepted, {n_refused:,} of {n_known:,} known ones refused"
    )
    return Verdict(n_accepted < n_new / 2, f"{shares}; the figure shows the least novel ones")


def matches_better_than_pixels(groups: Groups) -> Verdict:
    """DCL finds the right choice more often than pixel matching, with disjoint confidence intervals."""
    results = map(MultipleChoiceResult.from_json, protocol_results(groups, "multiple-choice"))
    choices = pool_scores(list(results))
    most = {name: choices[name][-1] for name in ("dcl", "pixel matching")}
    ours, theirs = most.values()
    shares = listed({name: choice.accuracy for name, choice in most.items()})
    observed = f"{ours.n_choices} choices: {shares}; chance {ours.chance:.3f}"
    return Verdict(ours.low > theirs.high, observed)


def _first_task_accuracy(group: Group) -> float:
    """Mean accuracy on the latest task at the first evaluation."""
    rows = [next(run.scores.rows()) for run in group.runs]
    return sum(float(row.scores[row.tasks == row.after].mean()) for row in rows) / len(rows)


def _is_one_seed(groups: Groups) -> bool:
    """Whether any of the series has a single run."""
    return min(len(group.runs) for group in groups.values()) == 1


def _n_common(groups: Groups) -> int:
    """Number of tasks that all series have learned."""
    return min(group.n_tasks for group in groups.values())


def _after(groups: Groups, n_tasks: int) -> dict[str, float]:
    """Mean accuracy of each series at its last evaluation within the first n tasks."""
    curves = {name: group.series(RunResults.accuracy) for name, group in groups.items()}
    return {
        name: float(curve.mean[curve.x <= max(n_tasks, curve.x[0])][-1]) for name, curve in curves.items()
    }


def _each_after(group: Group, n_tasks: int) -> list[float]:
    """Accuracy of each seed of a series at its last evaluation within the first n tasks."""
    curves = [run.accuracy() for run in group.runs]
    return [curve[max((n for n in curve if n <= n_tasks), default=min(curve))] for curve in curves]


def _ends(group: Group) -> tuple[float, float, int]:
    """Mean accuracy after the first and after the last task, and the number of tasks."""
    mean = group.series(RunResults.accuracy).mean
    return float(mean[0]), float(mean[-1]), group.n_tasks


def _best(group: Group, since: int = 0) -> float:
    """Maximum of the mean accuracy from some task on."""
    curve = group.series(RunResults.accuracy)
    return float(curve.mean[curve.x >= min(since, curve.x[-1])].max())
