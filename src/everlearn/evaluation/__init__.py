"""Evaluation: metrics of score tables, latents and novelty scores, and protocols for trained learners.

Plain functions turn accuracies per task or batch, latents and factors, novelty scores and costs into metrics
and curves. `everlearn.evaluation.protocols` evaluates trained learners. Modules are imported on first use.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.evaluation.disentanglement import DCI, dci, factor_vae_score, mig, sap
    from everlearn.evaluation.intervals import Interval, bootstrap_interval, mean_interval, wilson_interval
    from everlearn.evaluation.metrics import (
        METRICS,
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

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
