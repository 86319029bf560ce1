"""No defence at all: the floor every method should stand above."""

from everlearn.learners.base.classifier import Classifier


class Naive(Classifier):
    """Train on whatever arrives and let the past go.

    The plain network under the plain loss, task after task: the measure of forgetting without a cure.
    Expect it to answer only with labels of the newest task (about 1 / number of tasks in all).

    Example:
        >>> import numpy as np
        >>> learner = Naive.tiny()
        >>> learner.predict(np.zeros((2, 16, 16), np.uint8))
        array([-1, -1])
    """
