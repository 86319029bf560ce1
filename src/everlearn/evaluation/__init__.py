"""How well it went.

Takes in what was measured: accuracies task by task or batch by batch, codes and factors, novelty scores,
costs. Gives out numbers and curves, each by a plain function that says in its first line what it means.
"""

from everlearn.evaluation.change_detection import Detection, Stage, detection
from everlearn.evaluation.disentanglement import (
    DCI,
    completeness_of,
    dci,
    disentanglement_of,
    factor_vae_score,
    mig,
    sap,
)
from everlearn.evaluation.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    student_quantile,
    wilson_interval,
)
from everlearn.evaluation.metrics import (
    Cost,
    accuracy_curve,
    angle_error,
    avalanche_forgetting,
    average_accuracy,
    average_incremental_accuracy,
    backward_transfer,
    factor_errors,
    factor_errors_each,
    final_accuracy,
    forgetting,
    forgetting_curve,
    forward_transfer,
    intransigence,
)
from everlearn.evaluation.novelty import Curve, acceptance, precision_recall, roc, threshold_for
from everlearn.evaluation.probes import Probing, Retention, read_labels, read_numbers, retained, retention
from everlearn.evaluation.scores import Row, ScoreTable
from everlearn.evaluation.stability import (
    learning_curve_area,
    min_accuracy,
    min_accuracy_of,
    windowed_forgetting,
    windowed_plasticity,
    worst_case_accuracy,
    worst_case_accuracy_of,
)

__all__ = [
    "DCI",
    "Cost",
    "Curve",
    "Detection",
    "Interval",
    "Probing",
    "Retention",
    "Row",
    "ScoreTable",
    "Stage",
    "acceptance",
    "accuracy_curve",
    "angle_error",
    "avalanche_forgetting",
    "average_accuracy",
    "average_incremental_accuracy",
    "backward_transfer",
    "bootstrap_interval",
    "completeness_of",
    "dci",
    "detection",
    "disentanglement_of",
    "factor_errors",
    "factor_errors_each",
    "factor_vae_score",
    "final_accuracy",
    "forgetting",
    "forgetting_curve",
    "forward_transfer",
    "intransigence",
    "learning_curve_area",
    "mean_interval",
    "mig",
    "min_accuracy",
    "min_accuracy_of",
    "precision_recall",
    "read_labels",
    "read_numbers",
    "retained",
    "retention",
    "roc",
    "sap",
    "student_quantile",
    "threshold_for",
    "wilson_interval",
    "windowed_forgetting",
    "windowed_plasticity",
    "worst_case_accuracy",
    "worst_case_accuracy_of",
]
