"""The figures and tables of the paper, on CORe50 or its twin."""

from everlearn.papers.exhibit import Exhibit
from everlearn.papers.negative import claims, drawing
from everlearn.papers.negative.dial import NOISES, noisy
from everlearn.papers.negative.readings import average, final
from everlearn.papers.seeds import measured
from everlearn.reports.comparison import Column
from everlearn.reports.quantities import share


def of(scenario: str, *variants: str) -> tuple[str, ...]:
    """The names of some variants in a scenario, as scales call them.

    Example:
        >>> of("nc", "none", "NR-GD")
        ('nc none', 'nc NR-GD')
    """
    return tuple(f"{scenario} {variant}" for variant in variants)


COLUMNS = (
    Column("final", "at the end, on the whole test set", lambda group: share(measured(group, final)), "well"),
    Column("average", "over all evaluations", lambda group: share(measured(group, average)), "well"),
)
WORST_POSITIVE, WORST_NEGATIVE = noisy("nic PR-GD")[-1], noisy("nic NR-GD")[-1]
BARE = (
    '"none" is AR1, whose body is held by synaptic intelligence, as in the paper. "free" replays nothing '
    "either; its lower layers rest and the others take small steps, as with those that replay (not in the "
    "paper)."
)
TWIN = (
    "At laptop scale the stream is a twin of CORe50 with drawn shapes, and the network is trained on other "
    "shapes first, as the paper's is on ImageNet."
)

EXHIBITS = (
    Exhibit(
        "gnr-figure-1",
        "Positive and negative replay of generated patterns, new classes in every task",
        of("nc", "PR-GD", "NR-GD"),
        (
            claims.falling(
                "Negative replay performs significantly better, with the same classifier and generator.",
                "final",
                *of("nc", "NR-GD", "PR-GD"),
            ),
        ),
        drawing.both_sets,
        TWIN,
        COLUMNS,
    ),
    Exhibit(
        "gnr-table-1",
        "Average accuracy over all tasks, new classes in every task",
        of("nc", "none", "free", "PR-OD", "PR-GD", "NR-GD"),
        (
            claims.not_below("Real patterns are the upper bound.", "average", *of("nc", "PR-OD", "NR-GD")),
            claims.falling(
                "Negative replay is better than none, and positive replay of the same patterns worse.",
                "average",
                *of("nc", "NR-GD", "none", "PR-GD"),
            ),
        ),
        drawing.both_sets,
        f"{TWIN} {BARE} The paper's other column is ImageNet-1000, which is not at hand.",
        COLUMNS,
    ),
    Exhibit(
        "gnr-table-2",
        "Final accuracy with real, generated and random patterns as negative examples",
        (*of("nc", "none", "NR-OD", "NR-GD", "NR-RD"), *of("nic", "none", "NR-OD", "NR-GD", "NR-RD")),
        (
            *(
                claims.falling(
                    f"Even random patterns are better than none ({scenario}).",
                    "final",
                    *of(scenario, "NR-RD", "none"),
                )
                for scenario in ("nc", "nic")
            ),
            claims.falling(
                "In NIC generated patterns are better than random ones, and real ones than generated.",
                "final",
                *of("nic", "NR-OD", "NR-GD", "NR-RD"),
            ),
        ),
        None,
        TWIN,
        COLUMNS,
    ),
    Exhibit(
        "gnr-figure-4",
        "Single sessions of single classes, 391 tasks",
        of("nic", "none", "free", "PR-OD", "PR-GD", "NR-GD"),
        (
            claims.not_below("Real patterns are the upper bound.", "final", *of("nic", "PR-OD", "NR-GD")),
            claims.falling(
                "Negative replay is better than none, by 5 points and more.",
                "final",
                *of("nic", "NR-GD", "none"),
                by=0.05,
            ),
            claims.falling(
                "Positive replay of generated patterns is worse than none.",
                "final",
                *of("nic", "none", "PR-GD"),
            ),
            claims.falling(
                "It is better than positive replay of the same patterns, by 20 points and more.",
                "final",
                *of("nic", "NR-GD", "PR-GD"),
                by=0.2,
            ),
            claims.falling(
                "It is better than no replay even if the body is free (not in the paper).",
                "final",
                *of("nic", "NR-GD", "free"),
            ),
        ),
        drawing.both_sets,
        f"{TWIN} {BARE}",
        COLUMNS,
    ),
    Exhibit(
        "gnr-degradation",
        "Positive and negative replay as generated patterns are made worse (not in the paper)",
        (*of("nic", "none", "free", "PR-OD"), *noisy("nic PR-GD"), *noisy("nic NR-GD")),
        (
            claims.crosses(
                "Positive replay is better while patterns are good, negative replay when they are bad.",
                (0.0, *NOISES),
                noisy("nic PR-GD"),
                noisy("nic NR-GD"),
            ),
            claims.not_below(
                "Where patterns are bad: real ones are the upper bound.",
                "final",
                "nic PR-OD",
                WORST_NEGATIVE,
            ),
            claims.falling(
                "Where they are bad: negative replay is better than none, by 5 points and more.",
                "final",
                WORST_NEGATIVE,
                "nic none",
                by=0.05,
            ),
            claims.falling(
                "Where they are bad: positive replay is worse than none.", "final", "nic none", WORST_POSITIVE
            ),
            claims.falling(
                "Where they are bad: negative replay is better than positive, by 20 points and more.",
                "final",
                WORST_NEGATIVE,
                WORST_POSITIVE,
                by=0.2,
            ),
        ),
        drawing.against_noise,
        "Noise is added to what the generator makes, in its standard deviation; the generator learns from it "
        "too. By itself our generator makes good patterns: they are small, and shapes are simple. The claims "
        "are judged at the largest noise, those that replay being tuned anew where patterns are bad.",
        COLUMNS,
    ),
)
