"""Evaluation: metrics of score tables, latents and novelty scores, and protocols for trained learners.

Takes measurements: accuracies per task or batch, latents and factors, novelty scores, costs. Gives numbers
and curves by plain functions. `everlearn.evaluation.protocols` evaluates trained learners.
"""

from everlearn.evaluation.change_detection import (
    DetectionSummary,
    StageDetection,
    detect_stages,
    summarize_detection,
)
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
    factor_errors_per_image,
    forgetting,
    forgetting_curve,
    forward_transfer,
    intransigence,
)
from everlearn.evaluation.novelty import ThresholdCurve, acceptance, precision_recall, roc, threshold_for
from everlearn.evaluation.probes import ProbeResults, Retention, probe_labels, probe_values, retention
from everlearn.evaluation.scores import Row, ScoreTable
from everlearn.evaluation.stability import (
    evaluation_rows,
    learning_curve_area,
    min_accuracy,
    windowed_forgetting,
    windowed_plasticity,
    worst_case_accuracy,
)

__all__ = [
    "DCI",
    "Cost",
    "DetectionSummary",
    "Interval",
    "ProbeResults",
    "Retention",
    "Row",
    "ScoreTable",
    "StageDetection",
    "ThresholdCurve",
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
    "detect_stages",
    "disentanglement_of",
    "evaluation_rows",
    "factor_errors",
    "factor_errors_per_image",
    "factor_vae_score",
    "forgetting",
    "forgetting_curve",
    "forward_transfer",
    "intransigence",
    "learning_curve_area",
    "mean_interval",
    "mig",
    "min_accuracy",
    "precision_recall",
    "probe_labels",
    "probe_values",
    "retention",
    "roc",
    "sap",
    "student_quantile",
    "summarize_detection",
    "threshold_for",
    "wilson_interval",
    "windowed_forgetting",
    "windowed_plasticity",
    "worst_case_accuracy",
]
