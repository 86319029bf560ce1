"""A class is the mean of its features; two learners' means make one."""

import numpy as np

from everlearn.errors import BadInput
from everlearn.learners.old_base.frozen import Frozen
from everlearn.networks import module_state
from everlearn.rng import FloatArray, IntArray


class Prototypes(Frozen):
    """Train a network on the first task, then answer with the class whose mean feature is nearest.

    Nothing is forgotten, since only sums and counts change after the first task; and learners that share a
    network can learn different classes in different places and `merge`. Expect it to fail where later
    classes differ in what the first task gave no reason to see: its features are as good as that task.

    Example:
        >>> from everlearn.streams import sprites
        >>> stream = sprites(image_size=16, factor_values=2)
        >>> one, other = Prototypes.tiny(), Prototypes.tiny()
        >>> one.trained_tasks = other.trained_tasks = 0
        >>> for learner, k in ((one, 0), (other, 1)):
        ...     _ = learner.learn(stream.task(k).train)
        >>> one.merge(other)
        >>> len(one.sums)
        20

    Reference: Hendryx et al. 2021, "Federated reconnaissance: efficient, distributed, class-incremental
    learning", arXiv:2109.00150; Snell et al. 2017, "Prototypical networks", arXiv:1703.05175.
    """

    def gather(self, features: FloatArray, labels: IntArray) -> None:
        """Add features to the sums of their classes."""
        self.sums.add(features, labels)

    def decide(self, features: FloatArray) -> IntArray:
        """The class with the smallest squared distance to its mean; the first of equals."""
        means = self.sums.means()
        # |f - m|² without |f|², which is the same for every class.
        distances = (means * means).sum(1) - 2 * features @ means.T
        return np.asarray(self.sums.labels[distances.argmin(1)])

    def merge(self, other: "Prototypes") -> None:
        """Take in what another learner gathered with the same network: as if this one had seen it all."""
        if not (self.is_frozen and other.is_frozen):
            raise BadInput("a network is still learning; merge prototypes after the tasks that train it")
        ours, theirs = module_state(self.body), module_state(other.body)
        if not all(name in theirs and np.array_equal(ours[name], theirs[name]) for name in ours):
            raise BadInput("the networks differ, so their features mean different things; share one state")
        self.sums.merge(other.sums)
