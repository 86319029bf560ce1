"""The error that a check raises if a promise is broken."""

from everlearn.errors import BadInput


class BrokenContract(BadInput, AssertionError):
    """A component does not keep a promise of its interface.

    Example:
        >>> import numpy as np
        >>> from everlearn import learners, testing
        >>> class Zero(learners.Naive):
        ...     "Predicts 0."
        ...     def predict(self, images, tasks=None):
        ...         return np.zeros(len(images), np.int64)
        >>> testing.check_learner(Zero)
        Traceback (most recent call last):
        ...
        everlearn.testing.contract.BrokenContract: Zero.predict gives labels before anything is learned; ...
    """


def ensure(condition: object, message: str) -> None:
    """Raise `BrokenContract` with a message unless the condition is true."""
    if not condition:
        raise BrokenContract(message)
