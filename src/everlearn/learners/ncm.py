"""Nearest class mean (NCM) in a frozen feature space; two learners' means can be merged."""

import numpy as np

from everlearn.errors import BadInput
from everlearn.learners.frozen_features import FrozenFeatures
from everlearn.networks import module_state
from everlearn.rng import FloatArray, IntArray


class NCM(FrozenFeatures):
    """Nearest class mean in a frozen feature space.

    The prediction is the class whose mean feature is nearest. Nothing is forgotten, since only sums and
    counts change after the first task, and learners with the same backbone can learn different classes and
    `merge`. It fails where later classes differ in ways that the first task did not train.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(image_size=16, factor_values=2)
        >>> one, other = (NCM(image_shape=(16, 16), n_training_tasks=0) for _ in range(2))
        >>> for learner, k in ((one, 0), (other, 1)):
        ...     _ = learner.learn(stream.task(k).train)
        >>> one.merge(other)
        >>> len(one.sums)
        20

    References: Mensink et al. 2013, "Distance-based image classification: generalizing to new classes at
    near-zero cost"; merging: Hendryx et al. 2021, "Federated reconnaissance: efficient, distributed,
    class-incremental learning", arXiv:2109.00150; Snell et al. 2017, "Prototypical networks",
    arXiv:1703.05175.
    """

    def add_features(self, features: FloatArray, labels: IntArray) -> None:
        self.sums.add(features, labels)

    def classify(self, features: FloatArray) -> IntArray:
        means = self.sums.means()
        # |f - m|² without |f|², which is the same for every class; the first of equals.
        distances = (means * means).sum(1) - 2 * features @ means.T
        return np.asarray(self.sums.labels[distances.argmin(1)])

    def merge(self, other: "NCM") -> None:
        """Add the sums of another learner with the same backbone, as if this one had seen all images."""
        if not (self.is_frozen and other.is_frozen):
            raise BadInput("a backbone is still being trained; merge learners after the training tasks")
        ours, theirs = module_state(self.net.backbone), module_state(other.net.backbone)
        if not all(name in theirs and np.array_equal(ours[name], theirs[name]) for name in ours):
            raise BadInput("the backbones differ, so their features cannot be compared; load one state")
        self.sums.merge(other.sums)
