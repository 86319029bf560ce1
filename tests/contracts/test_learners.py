"""The contract of learners, for every learner in the registry: the public checks of `everlearn.testing`."""

from collections.abc import Callable
from functools import cache

import pytest

from everlearn.testing import LEARNER_CHECKS, Trial, make_trial

from .names import some_learners

trial = cache(make_trial)


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", some_learners())
def test_promise(name: str, check: Callable[[Trial], None]) -> None:
    check(trial(name))
