"""Claims of the paper about accuracy over tasks and about one-shot, open-set and multiple-choice tests."""

from itertools import pairwise

from everlearn.papers.claims import Metric, listed
from everlearn.papers.experiment import Claim, Groups, Verdict
from everlearn.papers.figures import pooled_choices
from everlearn.reports.groups import Group
from everlearn.reports.run_results import Findings

EARLY = 10
"""Number of tasks after which regularisation has failed according to the paper."""
DROP = 0.05
"""A decrease of accuracy larger than noise."""
TOLERANCE = 0.005
"""A decrease of accuracy that rounding explains."""

FORGETTING = Metric("forgetting", lambda run: list(run.forgetting().values())[-1])
FIRST_ACCURACY = Metric("accuracy after the first task", lambda run: next(iter(run.accuracy().values())))


def collapses(*series: str) -> Claim:
    """Little more than the accuracy on the latest task is left."""

    def check(groups: Groups) -> Verdict:
        n = _n_common(groups)
        early, end = _after(groups, EARLY), _after(groups, n)
        holds = max(early.values()) <= 2 / EARLY and max(end.values()) <= 2 / n
        reference = f"(a learner that knows only the latest task scores {1 / n:.3f})"
        return Verdict(
            holds, f"after {EARLY} tasks: {listed(early)}; after {n} tasks: {listed(end)} {reference}"
        )

    return Claim(f"Performance deteriorates rapidly after only {EARLY} tasks.", series, check)


def retains(series: str, *others: str) -> Claim:
    """A series is above all others after the tasks they share, and keeps its best accuracy to its end."""

    def check(groups: Groups) -> Verdict:
        n, length = _n_common(groups), groups[series].n_tasks
        there, end = _after(groups, n), _last(groups[series])
        holds = there[series] == max(there.values()) and end > _best(groups[series]) - DROP
        return Verdict(holds, f"after {n} tasks: {listed(there)}; {series} after {length} tasks: {end:.3f}")

    text = "DCL keeps its accuracy over hundreds of tasks, above all others."
    return Claim(text, (series, *others), check)


def increases(text: str, *series: str) -> Claim:
    """Accuracy after the tasks that all share increases from each series to the next under every seed."""

    def check(groups: Groups) -> Verdict:
        n = _n_common(groups)
        steps = pairwise([_each_after(group, n) for group in groups.values()])
        holds = all(low <= high for below, above in steps for low, high in zip(below, above, strict=False))
        return Verdict(holds, f"after {n} tasks: {listed(_after(groups, n))}")

    return Claim(text, series, check)


def decays(text: str, *series: str) -> Claim:
    """Accuracy ends below its maximum since the first tasks."""

    def check(groups: Groups) -> Verdict:
        drop = {name: _best(group, since=EARLY) - _last(group) for name, group in groups.items()}
        return Verdict(min(drop.values()) > DROP, f"drop since task {EARLY}: {listed(drop)}")

    return Claim(text, series, check)


def loses_half(text: str, series: str) -> Claim:
    """Less than half of the accuracy after the first task is left at the end."""

    def check(groups: Groups) -> Verdict:
        start, end, n = _first(groups[series]), _last(groups[series]), groups[series].n_tasks
        return Verdict(end < start / 2, f"{start:.3f} after the first task, {end:.3f} after {n} tasks")

    return Claim(text, (series,), check)


def above_chance(series: str, classes_per_task: int = 10) -> Claim:
    """Final accuracy is more than three times chance level."""

    def check(groups: Groups) -> Verdict:
        n_classes, value = classes_per_task * groups[series].n_tasks, _last(groups[series])
        chance = 1 / n_classes
        return Verdict(value > 3 * chance, f"{value:.3f} with {n_classes:,} classes; chance {chance:.4f}")

    return Claim("It stays well above chance.", (series,), check)


def improves(series: str) -> Claim:
    """Final accuracy is not below the accuracy after the first task."""

    def check(groups: Groups) -> Verdict:
        start, end = _first(groups[series]), _last(groups[series])
        return Verdict(end >= start - TOLERANCE, f"{start:.4f} after the first task, {end:.4f} at the end")

    return Claim("Online, accuracy still improves over time.", (series,), check)


def one_shot(series: str, n_new: int, setting: str, paper: float) -> Claim:
    """New classes are learned from one image each as accurately as the paper reports."""

    def check(groups: Groups) -> Verdict:
        values = [_one_shot_accuracy(run, n_new, setting) for run in groups[series].runs]
        mean = sum(values) / len(values)
        return Verdict(
            mean >= paper - TOLERANCE, f"{mean:.4f} (minimum of {len(values)} seeds {min(values):.4f})"
        )

    among = {"standard": "among themselves", "generalised": "together with all old ones"}[setting]
    return Claim(
        f"{n_new:,} new classes from one image each, classified {among}: {paper:.2f}.", (series,), check
    )


def _one_shot_accuracy(run: Findings, n_new: int, setting: str) -> float:
    shots = run.answers["oneshot"]["shots"]
    return next((float(each[setting]) for each in shots if each["n_new"] == n_new), 0.0)


def open_set(series: str, paper: float) -> Claim:
    """Unknown classes are rejected as well as the paper reports."""
    curves = {"acceptance": "curve of the paper", "precision_recall": "precision-recall", "roc": "ROC"}

    def check(groups: Groups) -> Verdict:
        results = [run.answers["openset"] for run in groups[series].runs]
        areas = {
            label: sum(result[curve]["area"] for result in results) / len(results)
            for curve, label in curves.items()
        }
        return Verdict(areas[curves["acceptance"]] >= paper, f"areas: {listed(areas)}")

    return Claim(f"The area under the paper's curve is {paper}.", (series,), check)


def few_false_accepts(series: str) -> Claim:
    """Fewer than half of the images of unknown classes are accepted."""

    def check(groups: Groups) -> Verdict:
        results = [run.answers["openset"] for run in groups[series].runs]
        n_new = sum(result["n_new"] for result in results)
        n_accepted = sum(round((1 - result["rejected"]) * result["n_new"]) for result in results)
        observed = f"{n_accepted} of {n_new:,} new images accepted; the figure shows the least novel ones"
        return Verdict(n_accepted < n_new / 2, observed)

    return Claim("Few new shapes are accepted, and they resemble what they are taken for.", (series,), check)


def matches_better(series: str, learner: str, baseline: str) -> Claim:
    """The learner finds the right choice more often than a baseline, with disjoint confidence intervals."""

    def check(groups: Groups) -> Verdict:
        choices = pooled_choices(groups[series].runs)
        ours, theirs = choices[learner][-1], choices[baseline][-1]
        shares = {learner: ours.accuracy.mean, baseline: theirs.accuracy.mean}
        observed = f"{ours.n_choices} choices: {listed(shares)}; chance {ours.chance:.3f}"
        return Verdict(ours.accuracy.low > theirs.accuracy.high, observed)

    text = "Matching a shape requires a model of its transformations; comparing pixels is not enough."
    return Claim(text, (series,), check)


def _n_common(groups: Groups) -> int:
    """Number of tasks that all series have learned."""
    return min(group.n_tasks for group in groups.values())


def _after(groups: Groups, n_tasks: int) -> dict[str, float]:
    """Mean accuracy of each series at its last evaluation within the first n tasks."""
    return {name: _at(group, n_tasks) for name, group in groups.items()}


def _at(group: Group, n_tasks: int) -> float:
    curve = group.line(Findings.accuracy)
    return float(curve.mean[curve.x <= max(n_tasks, curve.x[0])][-1])


def _each_after(group: Group, n_tasks: int) -> list[float]:
    """The same for each seed of one series."""
    curves = [run.accuracy() for run in group.runs]
    return [curve[max((n for n in curve if n <= n_tasks), default=min(curve))] for curve in curves]


def _first(group: Group) -> float:
    return float(group.line(Findings.accuracy).mean[0])


def _last(group: Group) -> float:
    return float(group.line(Findings.accuracy).mean[-1])


def _best(group: Group, since: int = 0) -> float:
    """Maximum of the mean accuracy from some task on."""
    curve = group.line(Findings.accuracy)
    return float(curve.mean[curve.x >= min(since, curve.x[-1])].max())
