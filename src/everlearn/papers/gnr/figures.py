"""The figures and tables of "Generative Negative Replay for Continual Learning", and their metrics.

No learner can predict a class that it has not seen yet, so all images of such classes count as errors.
Accuracy on the full test set therefore follows from the counts on the growing one, as long as every test
image of the classes seen is evaluated; the settings in `scales` ensure that.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from everlearn.evaluation.formatting import format_score
from everlearn.evaluation.intervals import Curve
from everlearn.evaluation.scores import mean_without_nan
from everlearn.papers.claims import Metric, above_next, not_below
from everlearn.papers.experiment import Check, Claim, Experiment, Groups, Verdict
from everlearn.papers.gnr.scales import AR1, CORRUPTED, DEGRADED, NO_PENALTY, ROLES, SCENARIOS
from everlearn.plotting.axes import Axes, Figure, canvas, draw_series, label_lines, unit_y_axis
from everlearn.plotting.style import FigureStyle
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults


def growing(run: RunResults) -> Curve:
    """Accuracy on all test images of the classes seen so far."""
    return {n: right / total for n, right, total in _counts(run)}


def full(run: RunResults) -> Curve:
    """Accuracy on all test images of the classes of the whole run."""
    counts = list(_counts(run))
    n_images = counts[-1][2] if counts else 1
    return {n: right / n_images for n, right, _ in counts}


def _counts(run: RunResults) -> Iterator[tuple[int, int, int]]:
    """Number of tasks learned, correct predictions and images at each evaluation after a task."""
    for scored in run.record.evaluations():
        if scored["n_batches"] is None:
            yield scored["task"] + 1, sum(scored["n_correct"]), sum(scored["n_images"])


def _replay_accuracy(run: RunResults) -> float:
    return mean_without_nan(ended["losses"].get("replay_accuracy", math.nan) for ended in run.ended)


FINAL = Metric("final accuracy", lambda run: list(full(run).values())[-1])
AVERAGE = Metric("average accuracy", lambda run: mean_without_nan(full(run).values()))
REPLAY_ACCURACY = Metric("accuracy on replayed activations", _replay_accuracy)
"""Share of replayed activations that the network classifies correctly when a task begins, mean over tasks."""

COLUMNS = (
    FINAL.column("final", "accuracy on the full test set after the last task"),
    AVERAGE.column("average", "accuracy on the full test set, mean over all evaluations"),
    REPLAY_ACCURACY.column("replayed", "accuracy on replayed activations when a task begins"),
)
BASELINES = (
    '"AR1" penalises changes of the backbone by synaptic intelligence, as in the paper. "no penalty" '
    "replays nothing either; its lower layers are frozen and the others have small learning rates, like the "
    "variants with replay (not in the paper)."
)
STREAM = (
    "At laptop scale the stream consists of sprites in the sessions of CORe50, and the network is "
    "pretrained on other shapes, as the paper's is on ImageNet. Seeds differ in the similarity of their "
    "shapes, more than methods differ from each other; therefore methods are compared seed by seed, and "
    "figures show means."
)
FIVE, TWENTY = "by at least 5 points", "by at least 20 points"


def of(scenario: str, *variants: str) -> tuple[str, ...]:
    """Names of the series of some variants, such as "nc NR-GD"."""
    return tuple(f"{scenario} {variant}" for variant in variants)


def by_quality(scenario: str, role: str) -> dict[str, str]:
    """Names of the series of a role by the quality of their activations, the best first.

    Example:
        >>> list(by_quality("nic", "PR").values())[:3]
        ['nic PR-OD', 'nic PR-GD', 'nic PR-GD, corrupted 0.5']
    """
    real, generated = of(scenario, f"{role}-OD", f"{role}-GD")
    return {"real": real, "generated": generated, **{level: f"{generated}, {level}" for level in DEGRADED}}


def accuracy_on_both_sets(groups: Sequence[Group], style: FigureStyle) -> Figure:
    """Accuracy after each task on the full test set and on that of the classes seen."""
    figure, panels = canvas(2)
    for axes, curve, title in zip(panels, (full, growing), ("full", "growing"), strict=True):
        draw_series(axes, [group.series(curve) for group in groups], style, bands=False)
        axes.set_title(f"{title} test set")
        unit_y_axis(axes, "accuracy")
        label_lines(axes, [group.short for group in groups], style)
    return figure


def accuracy_by_quality(groups: Sequence[Group], style: FigureStyle) -> Figure:
    """Final accuracy of both roles over the quality of replayed activations, one panel per scenario."""
    figure, panels = canvas(2)
    final = {group.name: found.mean for group in groups if (found := FINAL.over_seeds(group))}
    for axes, (scenario, title) in zip(panels, SCENARIOS.items(), strict=True):
        levels = _levels(groups, scenario)
        for number, role in enumerate(ROLES):
            _draw(axes, number, [final.get(name) for name in by_quality(scenario, role).values()], style)
        for number, name in enumerate(of(scenario, AR1, NO_PENALTY), len(ROLES)):
            _draw(axes, number, len(levels) * [final.get(name)], style)
        axes.grid(axis="y")
        axes.set_title(title)
        axes.set_xlabel("replayed activations")
        axes.set_xticks(range(len(levels)), levels)
        unit_y_axis(axes, "final accuracy")
        label_lines(axes, [*(f"{role} replay" for role in ROLES.values()), AR1, NO_PENALTY], style)
    return figure


def _levels(groups: Sequence[Group], scenario: str) -> list[str]:
    """Labels of the levels of quality, with the share of correctly classified activations where known."""
    shares = {group.name: found.mean for group in groups if (found := REPLAY_ACCURACY.over_seeds(group))}
    return [
        f"{level}\n{shares[name]:.0%} correct" if name in shares else level
        for level, name in by_quality(scenario, "NR").items()
    ]


def _draw(axes: Axes, number: int, values: Sequence[float | None], style: FigureStyle) -> None:
    points = {place: value for place, value in enumerate(values) if value is not None}
    marker = "o" if number < len(ROLES) else ""
    (line,) = axes.plot(list(points), list(points.values()), marker=marker)
    line.set(color=style.color(number), linestyle=style.linestyle(number))


def crosses(positive: Mapping[str, str], negative: Mapping[str, str]) -> Check:
    """Positive replay is better at the first level of quality, negative replay at the last.

    Series are given by the quality of their activations, the best first.
    """

    def check(groups: Groups) -> Verdict:
        gaps = {
            level: FINAL.difference(groups[negative[level]], groups[positive[level]]) for level in positive
        }
        first, *_, last = gaps.values()
        observed = ", ".join(f"{level} {format_score(gap)}" for level, gap in gaps.items())
        holds = first is not None and last is not None and first.mean < 0 < last.low
        return Verdict(holds, f"negative minus positive: {observed}")

    return check


def better(text: str, series: Sequence[str], by: float = 0.0, metric: Metric = FINAL) -> Claim:
    """Each series is better than the next."""
    return Claim(text, tuple(series), above_next(metric, by=by))


def _upper_bound(series: Sequence[str], metric: Metric = FINAL, subject: str = "Real activations") -> Claim:
    return Claim(f"{subject} are the upper bound.", tuple(series), not_below(metric))


def _degradation_claims(scenario: str) -> tuple[Claim, ...]:
    """The claims of the paper where generated activations are degraded."""
    none, real, random = of(scenario, AR1, "PR-OD", "NR-RD")
    qualities = [by_quality(scenario, role) for role in ROLES]
    positive, negative = (names[CORRUPTED] for names in qualities)
    both = f"Positive replay is better while activations are good, negative when they are bad ({scenario})."
    here = f"Corruption 1, {scenario}"
    return (
        Claim(both, tuple(name for names in qualities for name in names.values()), crosses(*qualities)),
        _upper_bound((real, negative), subject=f"{here}: real activations"),
        better(f"{here}: negative replay is better than none, {FIVE}.", (negative, none), by=0.05),
        better(f"{here}: even random activations are better than none.", (random, none)),
        better(f"{here}: positive replay is worse than none.", (none, positive)),
        better(f"{here}: negative replay is better than positive, {TWENTY}.", (negative, positive), by=0.2),
    )


EXPERIMENTS = (
    Experiment(
        "gnr-figure-1",
        "Positive and negative replay of generated activations, new classes in every task",
        of("nc", "PR-GD", "NR-GD"),
        (
            better(
                "Negative replay performs significantly better, with the same classifier and generator.",
                of("nc", "NR-GD", "PR-GD"),
            ),
        ),
        accuracy_on_both_sets,
        STREAM,
        COLUMNS,
    ),
    Experiment(
        "gnr-table-1",
        "Average accuracy over all tasks, new classes in every task",
        of("nc", AR1, NO_PENALTY, "PR-OD", "PR-GD", "NR-GD"),
        (
            _upper_bound(of("nc", "PR-OD", "NR-GD"), AVERAGE),
            better(
                "Negative replay is better than none, and positive replay of the same activations worse.",
                of("nc", "NR-GD", AR1, "PR-GD"),
                metric=AVERAGE,
            ),
        ),
        accuracy_on_both_sets,
        f"{STREAM} {BASELINES} The other column of the paper is ImageNet-1000, which is not available here.",
        COLUMNS,
    ),
    Experiment(
        "gnr-table-2",
        "Final accuracy with real, generated and random activations as negative examples",
        tuple(name for scenario in SCENARIOS for name in of(scenario, AR1, "NR-OD", "NR-GD", "NR-RD")),
        (
            *(
                better(f"Even random activations are better than none ({name}).", of(name, "NR-RD", AR1))
                for name in SCENARIOS
            ),
            better(
                "In NIC generated activations are better than random ones, and real ones than generated.",
                of("nic", "NR-OD", "NR-GD", "NR-RD"),
            ),
        ),
        None,
        STREAM,
        COLUMNS,
    ),
    Experiment(
        "gnr-figure-4",
        "One session of one class per task, 391 tasks",
        of("nic", AR1, NO_PENALTY, "PR-OD", "PR-GD", "NR-GD"),
        (
            _upper_bound(of("nic", "PR-OD", "NR-GD")),
            better(f"Negative replay is better than none, {FIVE}.", of("nic", "NR-GD", AR1), by=0.05),
            better("Positive replay of generated activations is worse than none.", of("nic", AR1, "PR-GD")),
            better(
                f"Negative replay is better than positive replay of the same activations, {TWENTY}.",
                of("nic", "NR-GD", "PR-GD"),
                by=0.2,
            ),
            better(
                "Negative replay is better than no replay even without a penalty (not in the paper).",
                of("nic", "NR-GD", NO_PENALTY),
            ),
        ),
        accuracy_on_both_sets,
        f"{STREAM} {BASELINES}",
        COLUMNS,
    ),
    Experiment(
        "gnr-degradation",
        "Positive and negative replay of activations of decreasing quality (not in the paper)",
        tuple(
            name
            for scenario in SCENARIOS
            for name in (
                *of(scenario, AR1, NO_PENALTY, "NR-RD"),
                *(name for role in ROLES for name in by_quality(scenario, role).values()),
            )
        ),
        tuple(claim for scenario in SCENARIOS for claim in _degradation_claims(scenario)),
        accuracy_by_quality,
        "Activations are real, generated as in the paper by a generator that is trained on its own samples, "
        "or worse. Corruption exchanges half or all of the values of an activation for those of other "
        "activations of any class. The generator is trained on the result, so corruption accumulates. Every "
        'unit keeps its distribution; only the information about the class is lost. "unguided" is a '
        "generator without the loss of the classifier, whose classes mix. The settings of replay were tuned "
        "again for corruption 1, and are the same for corruption 0.5 and unguided generators. [Other ways "
        "to degrade activations](decisions/0009-corrupting-generated-activations.md) that were tried.",
        COLUMNS,
    ),
)
