"""Heads that are merged: CWR* with a frozen body, and AR1's, whose body goes on."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.learners.cwr import AR1, CWRLearner, CWRStar

from .peer import BATCH, EXACT, TASKS, model_of, settings, train_ours, train_theirs

pytestmark = [  # Avalanche's
    pytest.mark.filterwarnings("ignore:No loggers specified"),
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept"),
]

RETURNING = [*TASKS, TASKS[0], TASKS[2]]
"""Classes that come again, so that rows have to be merged with older ones."""
SAME = settings(momentum=0.0, weight_decay=0.0, head_lr=0.05, centering="task")
"""Avalanche takes one mean off all rows of a task."""


def theirs(learner: CWRLearner, *, freeze: bool) -> Any:
    from avalanche.training import Naive
    from avalanche.training.plugins import CWRStarPlugin

    model = model_of(learner)
    del model[1].bias  # the method merges rows, and has no bias
    model[1].register_buffer("bias", torch.zeros(len(model[1].weight)))
    plugin = CWRStarPlugin(model, cwr_layer_name="1", freeze_remaining_model=freeze)
    return Naive(
        plugins=[plugin],
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=BATCH,
        train_epochs=1,
        evaluator=None,
    )


def agree_task_by_task(learner: CWRLearner, strategy: Any) -> None:
    for task in RETURNING:
        ours, other = train_ours(learner, [task]), train_theirs(strategy, [task])
        np.testing.assert_allclose(ours.losses, other.losses, **EXACT)
        known = len(learner.net.head.labels)
        np.testing.assert_allclose(
            learner.cwr_head.class_weights[:known], strategy.model[1].weight[:known].detach(), **EXACT
        )


def test_cwr(avalanche) -> None:
    learner = CWRStar(**SAME)
    agree_task_by_task(learner, theirs(learner, freeze=True))


def test_the_head_of_ar1(avalanche) -> None:
    """Without synaptic intelligence, which has a test of its own; the body goes on at the same pace."""
    learner = AR1(**SAME, strength=0.0, backbone_lr=0.05)
    agree_task_by_task(learner, theirs(learner, freeze=False))


def test_counts_matter() -> None:
    """What is compared can fail: with one mean per row, as our paper has it, the rows are others."""
    ours, other = CWRStar(**SAME), CWRStar(**{**SAME, "centering": "class"})
    for learner in (ours, other):
        train_ours(learner, TASKS[:1])
    assert not np.allclose(ours.cwr_head.class_weights, other.cwr_head.class_weights, atol=1e-4)
