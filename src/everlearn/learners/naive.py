"""Sequential fine-tuning."""

from everlearn.learners.classifier import Classifier


class Naive(Classifier):
    """Sequential fine-tuning (lower bound).

    One optimizer step per batch, without any measure against forgetting. In class-incremental streams it
    predicts labels of the latest task only (accuracy about 1 / number of tasks).

    Example:
        >>> import numpy as np
        >>> Naive.tiny().predict(np.zeros((2, 16, 16), np.uint8))
        array([-1, -1])
    """
