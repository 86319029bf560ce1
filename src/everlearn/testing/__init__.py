"""Checks of learners and streams: the contract of the library as plain functions.

`check_learner(MyMethod)` and `check_stream(stream)` raise `BrokenContract` with one sentence that says which
promise is broken. The package's own learners and streams pass the same checks in its test suite.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.testing.contract import BrokenContract
    from everlearn.testing.learner_checks import LEARNER_CHECKS, Trial, check_learner, make_trial, run_check
    from everlearn.testing.stream_checks import STREAM_CHECKS, StreamTrial, check_stream

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
