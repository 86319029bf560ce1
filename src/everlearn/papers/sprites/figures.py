"""The figures and tables of "Infinite dSprites for Disentangled Continual Learning"."""

from collections.abc import Sequence
from functools import partial

from everlearn.papers.claims import above_next, at_most
from everlearn.papers.experiment import Claim, Experiment
from everlearn.papers.sprites import claims
from everlearn.plotting import FigureStyle
from everlearn.plotting.axes import Figure, canvas, integer_ticks, label_lines, unit_y_axis
from everlearn.reports.figures import get_drawing
from everlearn.reports.groups import Group
from everlearn.reports.run_results import RunResults

DCL, DCL_200, L2P = "dcl", ("dcl, 200 tasks",), ("l2p",)
REGULARISED = ("lwf", "ewc", "si")
BUFFERS = ("er 1k", "er 2k", "er 5k", "er 10k", "er 20k")
BUFFERS_30 = ("er 250, 30 tasks", "er 1k, 30 tasks", "er 5k, 30 tasks", "er 20k, 30 tasks")
REPLAY = ("naive, short", "er 500, short", "er 2k, short", "er 8k, short")
EPOCHS = (DCL, "dcl, 3 epochs", "dcl, 5 epochs")


def accuracy_curves(groups: Sequence[Group], style: FigureStyle, *, bottom: float = 0.0) -> Figure:
    """Average accuracy on all tasks seen so far: the mean over seeds, and thin lines for single seeds.

    All lines end after the number of tasks that all series have learned.
    """
    figure, (axes,) = canvas(1)
    n_tasks = min(group.n_tasks for group in groups)
    for number, group in enumerate(groups):
        curve = group.series(RunResults.accuracy)
        shown = curve.x <= n_tasks
        axes.plot(
            curve.x[shown], curve.mean[shown], color=style.color(number), linestyle=style.linestyle(number)
        )
    for number, group in enumerate(groups):
        for run in group.runs if len(group.runs) > 1 else ():
            points = {n: value for n, value in run.accuracy().items() if n <= n_tasks}
            axes.plot(
                list(points), list(points.values()), color=style.color(number), alpha=0.35, linewidth=0.6
            )
    axes.grid(axis="y")
    axes.set_xlabel("tasks learned")
    integer_ticks(axes.xaxis)
    unit_y_axis(axes, "average accuracy", bottom)
    label_lines(axes, [group.short for group in groups], style)
    return figure


def _collapses(*series: str) -> Claim:
    return Claim("Performance deteriorates rapidly after only 10 tasks.", series, claims.collapses)


def _dcl_retains(*others: str) -> Claim:
    text = "DCL keeps its accuracy over hundreds of tasks, above all others."
    return Claim(text, (DCL, *others), claims.if_learned(claims.retains))


def _one_shot(n_new: int, setting: str, paper: float) -> Claim:
    among = {"standard": "among themselves", "generalized": "together with all old ones"}[setting]
    text = f"{n_new:,} new classes from one image each, classified {among}: at least {paper:.2f}."
    return Claim(text, DCL_200, claims.one_shot(n_new, setting, paper))


EXPERIMENTS = (
    Experiment(
        "figure-3",
        "Regularisation methods over a long horizon",
        (DCL, "naive", *REGULARISED),
        (_collapses(*REGULARISED), _dcl_retains(*REGULARISED)),
        accuracy_curves,
    ),
    Experiment(
        "figure-4",
        "Experience replay with different buffer sizes",
        (DCL, *BUFFERS),
        (
            Claim("The larger the buffer, the longer accuracy lasts.", BUFFERS, claims.increases),
            Claim(
                "Accuracy eventually deteriorates, even with the largest buffer.", BUFFERS[-1:], claims.decays
            ),
            _dcl_retains(*BUFFERS),
        ),
        accuracy_curves,
        "The number of stored images per class matters: after 30 tasks a buffer of 20,000 holds 67 images "
        "of each of 300 classes, after 500 tasks 4 of each of 5,000. `er` has the defaults of all "
        "classifiers: a network that learns 1,000 classes together to 98.7 %, batch renormalization and "
        "averaged weights, chosen on seed 100 with joint training and replay of 5,000 images. Each new image "
        "is seen once, together with three stored ones. The paper trains ResNet-18 for 5 epochs.",
    ),
    Experiment(
        "figure-4-start",
        "The first 30 tasks of experience replay, with the former default backbone",
        (DCL, *BUFFERS_30),
        (
            Claim(
                "The larger the buffer, the longer accuracy lasts.",
                BUFFERS_30,
                claims.increases,
                is_ours=True,
            ),
        ),
        accuracy_curves,
        "Batch normalisation, as in the paper's ResNet-18. Training batches contain a larger share of the "
        "latest task than the test set does, which costs replay some accuracy and makes its curves uneven.",
    ),
    Experiment(
        "figure-5",
        "Learning to prompt a pretrained transformer",
        (DCL, *L2P),
        (
            Claim(
                "Even the first task is learned to less than 60%.",
                L2P,
                claims.if_learned(at_most(claims.FIRST_ACCURACY, 0.6)),
            ),
            Claim("The accuracy of prompts falls rapidly.", L2P, claims.if_learned(claims.loses_half)),
            _dcl_retains(*L2P),
        ),
        accuracy_curves,
        "The paper uses a ViT-B/16 pretrained on ImageNet-21k. Its weights are not available here, so the "
        "laptop scale uses a small transformer pretrained on Fashion-MNIST. On its features prompts do not "
        "learn even the first task, where the network of the paper reached somewhat less than 60 %. So these "
        "runs neither support nor contradict the paper. `--scale paper` uses the weights of timm.",
    ),
    Experiment(
        "figure-6",
        "Matching a shape in a multiple-choice test",
        DCL_200,
        (
            Claim(
                "Matching a shape requires a model of its transformations; comparing pixels is not enough.",
                DCL_200,
                claims.matches_better_than_pixels,
                is_ours=True,
            ),
        ),
        get_drawing("multiple-choice"),
        "The paper tests GPT-4 Vision and finds it above chance only with few choices. No such model is "
        "available here; `everlearn evaluate multiple-choice RECORD --endpoint URL --model NAME` runs the "
        "same test on one.",
    ),
    Experiment(
        "figure-7",
        "Invariance instead of equivariance: a contrastive learner",
        (DCL, "contrastive", "naive"),
        (
            Claim(
                "Contrastive learning decays, but not as rapidly as naive fine-tuning.",
                ("naive", "contrastive"),
                claims.increases,
            ),
            Claim("Contrastive learning stays well above chance.", ("contrastive",), claims.above_chance),
            _dcl_retains("contrastive"),
        ),
        accuracy_curves,
    ),
    Experiment(
        "figure-8",
        "DCL trained for one, three and five epochs",
        EPOCHS,
        (
            Claim("Online, accuracy still improves over time.", (DCL,), claims.improves),
            Claim("More epochs give better and steadier accuracy.", EPOCHS, claims.increases),
        ),
        partial(accuracy_curves, bottom=0.95),
        "Our DCL is nearly perfect after one epoch, so more epochs cannot improve it: the remaining "
        "differences are single images among a thousand.",
    ),
    Experiment(
        "table-1",
        "New classes from one image each",
        DCL_200,
        (
            _one_shot(10, "standard", 1.00),
            _one_shot(100, "standard", 0.98),
            _one_shot(1000, "standard", 0.95),
            _one_shot(10, "generalized", 0.96),
        ),
        get_drawing("one-shot"),
        "Our copy of the paper shows four cells of its table; which of them 0.98 and 0.95 are is inferred.",
    ),
    Experiment(
        "figure-9",
        "Open-set recognition: rejecting new shapes",
        DCL_200,
        (Claim("The area under the paper's curve is at least 0.92.", DCL_200, claims.open_set(0.92)),),
        get_drawing("open-set"),
        "What the authors call precision and recall are the share of known images accepted and the share of "
        "new images rejected. The first panel shows that curve, the second precision and recall.",
    ),
    Experiment(
        "figure-10",
        "New shapes that were accepted as known",
        DCL_200,
        (
            Claim(
                "Few new shapes are accepted, and they resemble what they are taken for.",
                DCL_200,
                claims.few_false_accepts,
            ),
        ),
        get_drawing("false-accepts"),
    ),
    Experiment(
        "appendix-agem",
        "Averaged gradient episodic memory",
        (DCL, "a-gem", "naive"),
        (_collapses("a-gem"), _dcl_retains("a-gem")),
        accuracy_curves,
    ),
    Experiment(
        "appendix-der",
        "Dark experience replay with a buffer of 5,000 images",
        (DCL, "der 5k", "er 5k, 30 tasks"),
        (
            Claim(
                "DER outperforms experience replay with the same buffer.",
                ("er 5k, 30 tasks", "der 5k"),
                claims.increases,
            ),
            Claim("DER still deteriorates over time.", ("der 5k",), claims.decays),
            _dcl_retains("der 5k"),
        ),
        accuracy_curves,
        "The authors use DER of Avalanche, which also trains on the labels of replayed images; with these "
        "settings that is our der++. It is above experience replay under one of two seeds, and below under "
        "the other.",
    ),
    Experiment(
        "replay-vs-joint",
        "Experience replay and joint training on twenty tasks of five classes (not in the paper)",
        (*REPLAY, "joint, short"),
        (
            Claim(
                "Accuracy increases with the buffer size; joint training is the upper bound.",
                (*REPLAY, "joint, short"),
                claims.increases,
                is_ours=True,
            ),
            Claim(
                "Replay forgets less than naive fine-tuning, and larger buffers less than smaller ones.",
                REPLAY,
                above_next(claims.FORGETTING),
                is_ours=True,
            ),
        ),
        accuracy_curves,
    ),
)
