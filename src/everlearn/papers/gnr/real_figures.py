"""The claims of "Generative Negative Replay for Continual Learning" on real images."""

import math

from everlearn.papers.claims import Metric, not_below
from everlearn.papers.experiment import Claim, Experiment
from everlearn.papers.gnr import real
from everlearn.papers.gnr.figures import (
    AVERAGE,
    COLUMNS,
    FINAL,
    FIVE,
    TWENTY,
    accuracy_on_both_sets,
    better,
    of,
)

REAL = (
    "Fifty classes of CIFAR-100 at 96 px in the tasks of CORe50, and EfficientNet-Lite0 pretrained on "
    "ImageNet, which knows many of these classes. The network is frozen up to its last block, whose output "
    "of 320 maps of 3 by 3 is replayed; the last convolution and the head are trained. The generator is an "
    "ordinary conditional VAE. Batches, memory and epochs are those of the paper. All lines have the same "
    'learning rates, chosen on two seeds that are not reported by the line PR-OD alone. "none" is AR1, '
    '"free" has no penalty, "naive" has one head that is not consolidated (appendix C of the paper).'
)

MEASURES = (
    'The columns "by mean" and "by head" measure replayed activations by classifiers that the learner does '
    "not have: the share that is nearest to the real mean of its class, and the accuracy on real images of a "
    'linear classifier trained on replayed activations only; chance is 0.02. "replayed" is the accuracy of '
    "the learner itself, for which the generator is trained."
)


def _quality(score: str) -> Metric:
    return Metric(score, lambda run: run.protocol_results.get("replay-quality", {}).get(score, math.nan))


QUALITY = (
    *COLUMNS,
    _quality("nearest_mean").column(
        "by mean", "share of replayed activations that are nearest to the real mean of their class"
    ),
    _quality("head").column(
        "by head", "real accuracy of a linear classifier trained on replayed activations"
    ),
)
EXPERIMENTS = (
    Experiment(
        "gnr-real",
        "Real images and a network pretrained on ImageNet, new classes in every task",
        of("real nc", *real.VARIANTS),
        (
            better(
                "Figure 1: negative replay performs significantly better than positive replay of the same "
                "activations.",
                of("real nc", "NR-GD", "PR-GD"),
            ),
            better(
                "Table 1: negative replay is better than none on average over tasks.",
                of("real nc", "NR-GD", real.NONE),
                metric=AVERAGE,
            ),
            better(
                "Table 1: positive replay of generated activations is worse than none on average over tasks.",
                of("real nc", real.NONE, "PR-GD"),
                metric=AVERAGE,
            ),
            better("Real activations are the upper bound.", of("real nc", "PR-OD", "NR-GD")),
            better(
                "Table 2: even random activations are better than none.", of("real nc", "NR-RD", real.NONE)
            ),
            Claim(
                "Table 2: negative replay tolerates poor activations: generated ones are as good as real "
                "ones, within a point.",
                of("real nc", "NR-GD", "NR-OD"),
                not_below(FINAL, within=0.01),
            ),
            better(
                "Figure 6: without consolidation, negative replay is better than positive.",
                of("real nc", "naive NR-GD", "naive PR-GD"),
            ),
            better(
                "Figure 6: without consolidation, negative replay is better than none.",
                of("real nc", "naive NR-GD", real.NAIVE),
            ),
        ),
        accuracy_on_both_sets,
        f"{REAL} {MEASURES}",
        QUALITY,
    ),
    Experiment(
        "gnr-real-rates",
        "The same with three times the learning rates after the first task (not in the paper)",
        tuple(f"real nc {variant}{real.FASTER}" for variant in real.COMPARED),
        (),
        accuracy_on_both_sets,
        REAL,
        COLUMNS,
    ),
    Experiment(
        "gnr-real-nic",
        "Real images and a network pretrained on ImageNet, two sessions per task, 196 tasks",
        of("real nic", *real.VARIANTS),
        (
            better("Real activations are the upper bound.", of("real nic", "PR-OD", "NR-GD")),
            better(
                f"Figure 4: negative replay is better than none, {FIVE}.",
                of("real nic", "NR-GD", real.NONE),
                by=0.05,
            ),
            better(
                "Figure 4: positive replay of generated activations is worse than none.",
                of("real nic", real.NONE, "PR-GD"),
            ),
            better(
                f"Figure 4: negative replay is better than positive replay of the same samples, {TWENTY}.",
                of("real nic", "NR-GD", "PR-GD"),
                by=0.2,
            ),
            better(
                "Table 2: even random activations are better than none.", of("real nic", "NR-RD", real.NONE)
            ),
            better(
                "Table 2: generated activations are better than random ones, and real ones than generated.",
                of("real nic", "NR-OD", "NR-GD", "NR-RD"),
            ),
        ),
        accuracy_on_both_sets,
        f"{REAL} {MEASURES}",
        QUALITY,
    ),
)
