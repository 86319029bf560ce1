from typing import Any

import pytest
import torch
from torch import nn

from everlearn.errors import BadInput
from everlearn.learners.old_base.descent import Descent


def test_sgd_goes_down_the_slope_and_carries_momentum_on() -> None:
    weight = nn.Parameter(torch.tensor([1.0]))
    optimiser = Descent(optimizer="sgd", learning_rate=0.1, momentum=0.5).over([weight])
    for expected in (1.0 - 0.1 * 2, 0.8 - 0.1 * (2 + 0.5 * 2)):
        weight.grad = torch.tensor([2.0])
        optimiser.step()
        assert float(weight.detach()) == pytest.approx(expected)


def test_adam_steps_by_its_rate_whatever_the_slope() -> None:
    weight = nn.Parameter(torch.tensor([1.0]))
    weight.grad = torch.tensor([2000.0])
    Descent(learning_rate=0.1).over([weight]).step()
    assert float(weight.detach()) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"optimizer": "adma"}, "did you mean 'adam'"),
        ({"optimizer": "sgd", "momentum": 1.0}, "momentum is 1"),
        ({"momentum": 0.9}, "adam has its own"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        Descent(**settings)
