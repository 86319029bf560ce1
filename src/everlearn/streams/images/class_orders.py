"""Orders of classes in standard benchmarks."""

import numpy as np

from everlearn.errors import BadInput
from everlearn.rng import IntArray
from everlearn.streams.images.dataset import Dataset
from everlearn.streams.images.source import ReorderedDataset

ICARL_SEED = 1993


def icarl_order(n_classes: int) -> IntArray:
    """The class order of PyCIL, FACIL ("cifar100_icarl") and others: numpy's old generator with seed 1993.

    Example:
        >>> icarl_order(100)[:8].tolist()
        [68, 56, 78, 8, 23, 84, 90, 65]
    """
    # The order is published as the output of this generator, whose numbers never change.
    return np.random.RandomState(ICARL_SEED).permutation(n_classes).astype(np.int64)


def reorder(dataset: Dataset, order: str | tuple[int, ...]) -> Dataset:
    """A dataset with its classes in another order: "natural", "icarl", or the ids of all classes."""
    n = dataset.n_classes
    if isinstance(order, str):
        return dataset if order == "natural" else ReorderedDataset(dataset, icarl_order(n))
    if sorted(order) != list(range(n)):
        raise BadInput(f"class_order has {len(order)} ids; it must contain each of 0 to {n - 1} once")
    return ReorderedDataset(dataset, np.array(order, np.int64))
