"""CWR*: the body learns once, and the head by careful copying."""

from everlearn.learners.old_base.consolidated import Consolidated
from everlearn.networks.cut import layers


class CWRStar(Consolidated):
    """Learn features from the first task; after it only a head, whose rows are merged task by task.

    Each task is learned with rows of its own, for its own classes alone; afterwards they are centred and
    merged with the rows that answer, weighted by how many images each was learned from. So no class is louder
    than another because it came last. Nothing of the past is kept but the rows. Expect it to be as good as
    the features of the first task are, or those it was given.

    Example:
        >>> CWRStar.tiny().consolidation.centring
        'class'

    Reference: Lomonaco et al. 2020, "Rehearsal-free continual learning over small non-i.i.d. batches",
    arXiv:1907.03799.
    """

    @property
    def n_frozen(self) -> int:
        """All layers."""
        return len(layers(self.body))
