"""No defence at all: the floor every method should stand above."""

from everlearn.learners.base.classifier import Classifier


class Naive(Classifier):
    """Train on whatever arrives and let the past go.

    The plain network under the plain loss, task after task: the measure of forgetting without a cure.
    Expect it to answer only with labels of the newest task (about 1 / number of tasks in all).

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        backbone: "small" or "resnet18".
        learning_rate: Adam's step size.

    Example:
        >>> import numpy as np
        >>> learner = Naive.tiny()
        >>> learner.predict(np.zeros((2, 16, 16), np.uint8))
        array([-1, -1])
    """
