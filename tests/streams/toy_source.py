"""A source whose images encode their ids, and which counts its calls."""

from collections import Counter
from typing import ClassVar

import numpy as np

from everlearn.rng import rng_at
from everlearn.streams import ScenarioSettings, ScenarioStream

SIZES = {"train": 24, "val": 3, "test": 5, "held_out": 2}


class ToySource:
    image_shape = (2, 4)

    def __init__(self, n_classes=None, sizes=SIZES):
        self.n_classes, self.sizes = n_classes, sizes
        self.calls = Counter()

    def class_name(self, class_id):
        return f"toy {class_id}"

    def pool(self, class_id, split):
        self.calls["pools"] += 1
        order = rng_at(9, "toy", class_id).permutation(sum(self.sizes.values()))
        ends = np.cumsum([0, *self.sizes.values()])
        i = list(self.sizes).index(split)
        return order[ends[i] : ends[i + 1]]

    def load(self, class_ids, image_ids):
        self.calls["images"] += len(class_ids)
        ids = np.stack([class_ids, image_ids], axis=1).astype("<u4")
        return ids.view(np.uint8).reshape(-1, 2, 4), None

    def exemplars(self, class_ids):
        return self.load(class_ids, np.full_like(class_ids, 2**31))[0]


def samples_of(batch):
    """The (class, image) ids of a batch of a ToySource."""
    ids = np.ascontiguousarray(batch.images).reshape(len(batch), 8).view("<u4")
    return [tuple(row) for row in ids.tolist()]


class ToySettings(ScenarioSettings):
    kind: ClassVar[str] = "toy"

    def source(self):
        return ToySource()

    def build(self, n_source_classes=None, sizes=SIZES):
        return ScenarioStream(spec=self, scenario=self.make_scenario(ToySource(n_source_classes, sizes)))


def toy(n_source_classes=None, sizes=SIZES, **settings):
    return ToySettings(**settings).build(n_source_classes, sizes)
