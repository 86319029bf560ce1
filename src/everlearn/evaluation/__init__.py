"""Evaluation: metrics of score tables, latents and novelty scores, and protocols for trained learners.

Takes measurements: accuracies per task or batch, latents and factors, novelty scores, costs. Gives numbers
and curves by plain functions. `everlearn.evaluation.protocols` evaluates trained learners. Modules are
imported on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.evaluation.disentanglement import DCI, dci, factor_vae_score, mig, sap
    from everlearn.evaluation.intervals import Interval, bootstrap_interval, mean_interval, wilson_interval
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
    from everlearn.evaluation.novelty import acceptance, precision_recall, roc, threshold_for
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
    "DCI", "Cost", "Interval", "Row", "ScoreTable", "acceptance", "accuracy_curve", "angle_error",
    "avalanche_forgetting", "average_accuracy", "average_incremental_accuracy", "backward_transfer",
    "bootstrap_interval", "dci", "evaluation_rows", "factor_errors", "factor_errors_per_image",
    "factor_vae_score", "forgetting", "forgetting_curve", "forward_transfer", "intransigence",
    "learning_curve_area", "mean_interval", "mig", "min_accuracy", "precision_recall", "roc", "sap",
    "threshold_for", "wilson_interval", "windowed_forgetting", "windowed_plasticity",
    "worst_case_accuracy",
]  # fmt: skip

_MODULES = ("scores", "metrics", "stability", "intervals", "novelty", "disentanglement")
"""Modules of the public names, searched in this order."""


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        found = importlib.import_module(f"{__name__}.{module}")
        if hasattr(found, name):
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
