"""What the paper says of each figure, as questions that records can answer."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from everlearn.evaluation import mean_interval
from everlearn.papers.drawing import pooled_choices
from everlearn.papers.exhibit import Claim, Groups, Verdict
from everlearn.papers.sprites.readings import after, best, each_after, first, forgotten, last, said, shortest
from everlearn.reports.formatting import share
from everlearn.reports.groups import LEVEL

EARLY = 10
"""Tasks after which regularisation has failed, the paper says; what comes later is a long run."""
LOST = 0.05
"""A fall that is more than noise."""


def collapse(*names: str) -> Claim:
    """That some learners are left with little more than the newest task."""

    def check(groups: Groups) -> Verdict:
        n = shortest(groups)
        early, end = after(groups, EARLY), after(groups, n)
        holds = max(early.values()) <= 2 / EARLY and max(end.values()) <= 2 / n
        alone = f"who knew nothing but the newest task would have {1 / n:.3f}"
        return Verdict(holds, f"after {EARLY} tasks {said(early)}; after {n} {said(end)}; {alone}")

    return Claim(f"Performance deteriorates rapidly after only {EARLY} tasks.", names, check)


def stays(name: str, *others: str) -> Claim:
    """That one is above all others for as long as they last, and keeps what it has for longer."""

    def check(groups: Groups) -> Verdict:
        n, length = shortest(groups), groups[name].n_tasks
        there, end = after(groups, n), last(groups[name])
        holds = there[name] == max(there.values()) and end > best(groups[name]) - LOST
        return Verdict(holds, f"after {n} tasks {said(there)}; {name} after {length} {end:.3f}")

    return Claim("DCL keeps its accuracy over hundreds of tasks, above all others.", (name, *others), check)


def rising(words: str, *names: str) -> Claim:
    """That each is above the one before it under every seed, at the last task all of them met."""

    def check(groups: Groups) -> Verdict:
        n = shortest(groups)
        steps = pairwise([each_after(group, n) for group in groups.values()])
        holds = all(low <= high for below, above in steps for low, high in zip(below, above, strict=False))
        return Verdict(holds, f"after {n} tasks {said(after(groups, n))}")

    return Claim(words, names, check)


def forgets_less(words: str, *names: str) -> Claim:
    """That each forgets less than the one before it, by more than the spread over seeds explains.

    Seeds are compared with themselves: all learners met the same tasks under the same seed.
    """

    def check(groups: Groups) -> Verdict:
        n = shortest(groups)
        fell = {name: forgotten(group, n) for name, group in groups.items()}
        told = ", ".join(f"{name} {share(mean_interval(each, LEVEL))}" for name, each in fell.items())
        gains = [mean_interval(np.subtract(more, less), LEVEL) for more, less in pairwise(fell.values())]
        between = ", ".join(share(gain) for gain in gains)
        return Verdict(
            all(gain.low > 0 for gain in gains),
            f"forgotten after {n} tasks {told}; from one to the next {between}",
        )

    return Claim(words, names, check)


def decays(words: str, *names: str) -> Claim:
    """That each ends below the best it had once its beginnings were over."""

    def check(groups: Groups) -> Verdict:
        fall = {name: best(group, since=EARLY) - last(group) for name, group in groups.items()}
        return Verdict(min(fall.values()) > LOST, f"fall since task {EARLY}: {said(fall)}")

    return Claim(words, names, check)


def fades(words: str, name: str) -> Claim:
    """That less than half of what it had after the first task is left at the end."""

    def check(groups: Groups) -> Verdict:
        start, end, n = first(groups[name]), last(groups[name]), groups[name].n_tasks
        return Verdict(end < start / 2, f"{start:.3f} after the first task, {end:.3f} after {n}")

    return Claim(words, (name,), check)


def starts_low(name: str, ceiling: float) -> Claim:
    """That not even the first task is learned well."""

    def check(groups: Groups) -> Verdict:
        value = first(groups[name])
        return Verdict(value < ceiling, f"{value:.3f} after the first task")

    return Claim(f"Even the first task is learned to less than {ceiling:.0%}.", (name,), check)


def above_chance(name: str, classes_per_task: int = 10) -> Claim:
    """That what is left is far more than guessing."""

    def check(groups: Groups) -> Verdict:
        n_classes, value = classes_per_task * groups[name].n_tasks, last(groups[name])
        guess = 1 / n_classes
        return Verdict(value > 3 * guess, f"{value:.3f} among {n_classes:,} classes; a guess {guess:.4f}")

    return Claim("It stays well above chance.", (name,), check)


def improves(name: str) -> Claim:
    """That accuracy does not fall while tasks come in."""

    def check(groups: Groups) -> Verdict:
        start, end = first(groups[name]), last(groups[name])
        return Verdict(end >= start - 0.005, f"{start:.4f} after the first task, {end:.4f} at the end")

    return Claim("Online, accuracy still improves over time.", (name,), check)


def one_shot(name: str, n_new: int, kind: str, paper: float) -> Claim:
    """That new classes are known from one image each, as well as the paper reports."""

    def check(groups: Groups) -> Verdict:
        values = [_shots(run.answers["oneshot"], n_new, kind) for run in groups[name].runs]
        value = sum(values) / len(values)
        return Verdict(
            value >= paper - 0.005, f"{value:.4f}, lowest of {len(values)} seeds {min(values):.4f}"
        )

    where = {"standard": "alone", "generalised": "beside all old ones"}[kind]
    return Claim(f"{n_new:,} new classes, one image each, {where}: {paper:.2f}.", (name,), check)


def _shots(answer: Mapping[str, Any], n_new: int, kind: str) -> float:
    return next((float(each[kind]) for each in answer["shots"] if each["n_new"] == n_new), 0.0)


def open_set(name: str, paper: float) -> Claim:
    """That what was never met is told from what was, as well as the paper reports."""
    curves = {"acceptance": "the paper's curve", "precision_recall": "precision and recall", "roc": "ROC"}

    def check(groups: Groups) -> Verdict:
        answers = [run.answers["openset"] for run in groups[name].runs]
        areas = {
            words: sum(answer[curve]["area"] for answer in answers) / len(answers)
            for curve, words in curves.items()
        }
        return Verdict(areas["the paper's curve"] >= paper, f"areas: {said(areas)}")

    return Claim(f"The area under the paper's curve is {paper}.", (name,), check)


def mistakes(name: str) -> Claim:
    """That few new things are accepted, and that these can be seen."""

    def check(groups: Groups) -> Verdict:
        answers = [run.answers["openset"] for run in groups[name].runs]
        n_new = sum(answer["n_new"] for answer in answers)
        accepted = sum(round((1 - answer["rejected"]) * answer["n_new"]) for answer in answers)
        told = f"{accepted} of {n_new:,} new images were accepted; the most familiar are shown"
        return Verdict(accepted < n_new / 2, told)

    return Claim("Few new shapes are accepted, and they resemble what they are taken for.", (name,), check)


def finds_again(name: str, chooser: str, baseline: str) -> Claim:
    """That the right one of several is found by who learned, and not by comparing pixels."""

    def check(groups: Groups) -> Verdict:
        found = pooled_choices(groups[name].runs)
        learned, compared = found[chooser][-1], found[baseline][-1]
        shares = {chooser: learned.accuracy.mean, baseline: compared.accuracy.mean}
        told = f"of {learned.n_choices} choices: {said(shares)}; a guess {learned.chance:.3f}"
        return Verdict(learned.accuracy.low > compared.accuracy.high, told)

    words = "Finding a shape again takes knowing how shapes move; comparing pixels is not enough."
    return Claim(words, (name,), check)
