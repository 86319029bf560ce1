import numpy as np

from everlearn.evaluation.samples import known_labels, new_classes, sample_tasks, subsample
from everlearn.streams import Batch, sprites

STREAM = sprites(image_size=16, factor_values=3, classes_per_task=3)


def test_new_classes_are_not_known() -> None:
    labels = np.concatenate([new for _, new in new_classes(STREAM, 2, 7)])
    assert len(labels) == len(set(labels.tolist())) == 7
    assert not known_labels(STREAM, 2) & set(labels.tolist())


def test_subsample_takes_distinct_rows() -> None:
    batch = Batch(np.zeros((20, 2, 2), np.uint8), np.arange(20))
    for size in (1, 5, 100):
        taken = subsample(batch, size).labels
        assert len(taken) == min(size, 20)
        assert (np.diff(taken) > 0).all()


def test_sample_tasks_covers_all_tasks() -> None:
    batch = sample_tasks(STREAM, 30, "test", 1000)
    assert batch.tasks is not None
    assert (len(np.unique(batch.tasks)), batch.tasks.min(), batch.tasks.max()) == (20, 0, 29)
