"""The figures and tables of the paper, on CORe50 or its twin."""

from everlearn.papers.exhibit import Claim, Exhibit
from everlearn.papers.negative import claims, drawing
from everlearn.papers.negative.dial import ROLES, WORN_OUT, along
from everlearn.papers.negative.readings import average, final, named
from everlearn.papers.seeds import measured
from everlearn.reports.comparison import Column
from everlearn.reports.formatting import share


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
    Column(
        "named",
        "rightly by the network when a task began, of the patterns replayed",
        lambda group: share(measured(group, named)),
        "well",
    ),
)
BARE = (
    '"none" is AR1, whose body is held by synaptic intelligence, as in the paper. "free" replays nothing '
    "either; its lower layers rest and the others take small steps, as with those that replay (not in the "
    "paper)."
)
TWIN = (
    "At laptop scale the stream is a twin of CORe50 with drawn shapes, and the network is trained on other "
    "shapes first, as the paper's is on ImageNet. Seeds differ in how alike their shapes are, more than "
    "methods do; so methods are compared seed by seed, and figures show means."
)


def where_worn(scenario: str) -> tuple[Claim, ...]:
    """The paper's order of methods, where generated patterns are worn out."""
    none, real, random = of(scenario, "none", "PR-OD", "NR-RD")
    positive, negative = (along(scenario, role)[WORN_OUT] for role in ROLES)
    here = f"Worn out, {scenario}"
    return (
        claims.not_below(f"{here}: real ones are the upper bound.", "final", real, negative),
        claims.falling(
            f"{here}: negative replay is better than none, by 5 points and more.",
            "final",
            negative,
            none,
            by=0.05,
        ),
        claims.falling(f"{here}: even random ones are better than none.", "final", random, none),
        claims.falling(f"{here}: positive replay is worse than none.", "final", none, positive),
        claims.falling(
            f"{here}: negative replay is better than positive, by 20 points and more.",
            "final",
            negative,
            positive,
            by=0.2,
        ),
    )


def crossing(scenario: str) -> Claim:
    """Where positive and negative replay change places."""
    return claims.crosses(
        f"Positive replay is better while patterns are good, negative when they are bad ({scenario}).",
        *(along(scenario, role) for role in ROLES),
    )


def dialled(scenario: str) -> tuple[str, ...]:
    """All lines of a scenario that are drawn over how good patterns are, or judged there."""
    ends = (name for role in ROLES for name in along(scenario, role).values())
    return (*of(scenario, "none", "free", "NR-RD"), *ends)


def judged(scenario: str) -> tuple[Claim, ...]:
    """All that is said of the dial in a scenario."""
    return (crossing(scenario), *where_worn(scenario))


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
        "Positive and negative replay of good and of bad patterns (not in the paper)",
        (*dialled("nc"), *dialled("nic")),
        (*judged("nc"), *judged("nic")),
        drawing.along_the_dial,
        'Patterns are real; "copied", made in the paper\'s way, from copies of copies; or worse. To wear '
        "patterns down, half or all of a pattern's activations are exchanged for those of other patterns, of "
        "whatever class, and the generator learns from what is left, so that wear adds up. Every unit is as "
        'strong as before: only what patterns say of their class is lost. "Unguided" is a generator without '
        "the classifier's loss, which mixes classes up by itself. Who replays was tuned anew where patterns "
        "are worn out, and half-worn and unguided ones are replayed likewise. [What else was "
        "tried](decisions/0009-patterns-are-worn-not-shaken.md) to make patterns bad.",
        COLUMNS,
    ),
)
