import subprocess
import sys

import numpy as np
import pytest

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rendering import render
from everlearn.shapes import ShapeFamily

GOLDEN = "9a5ea610f44c7e84"
SMALL = {"image_size": 16, "factor_values": 3, "classes_per_task": 3}

ONE_CPU = f"""
import os, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
from everlearn import streams
small = streams.sprites(**{SMALL})
print(streams.sprites().fingerprint(), *(small.fingerprint([k]) for k in (0, 1, 1_000_000)))
"""


def test_default_is_the_benchmark_of_the_paper():
    stream = streams.sprites()
    task = stream.task(3)
    assert stream.id == "sprites/class-incremental-v1"
    assert stream.n_tasks is None
    assert [len(batch) for batch in (task.train, task.val, task.test)] == [6000, 150, 100]
    assert task.labels == tuple(range(30, 40))
    for label in task.labels:
        counts = [(batch.labels == label).sum() for batch in (task.train, task.val, task.test)]
        assert counts == [600, 15, 10]
    factors = np.concatenate([batch.factors.array() for batch in (task.train, task.val, task.test)])
    assert len(np.unique(factors, axis=0)) == 625


def test_golden_fingerprint():
    """If this fails, pixels or splits have changed: increase the version of the stream."""
    assert streams.sprites().fingerprint() == GOLDEN


def test_fingerprint_is_equal_in_another_process_with_one_cpu():
    output = subprocess.run([sys.executable, "-c", ONE_CPU], capture_output=True, text=True, check=True)
    small = streams.sprites(**SMALL)
    assert output.stdout.split() == [GOLDEN, *(small.fingerprint([k]) for k in (0, 1, 1_000_000))]


def test_images_agree_with_labels_and_factors():
    stream = streams.sprites(seed=4, **SMALL)
    batch = stream.task(1).test
    family = ShapeFamily(seed=4)
    assert (batch.images == render(family.outlines(batch.labels), batch.factors, image_size=16)).all()


def test_exemplars_are_canonical_and_without_nuisances():
    stream = streams.sprites(noise=0.2, **SMALL)
    task = stream.task(2)
    clean = render(ShapeFamily(seed=0).outlines([6, 7, 8]), Factors.canonical(3), image_size=16)
    assert (task.exemplars.images == clean).all()
    assert task.exemplars.factors == Factors.canonical(3)
    assert len(np.unique(task.train.images[0])) > 50


def test_splits_differ_between_classes():
    task = streams.sprites(image_size=16).task(0)
    poses = {frozenset(map(bytes, task.test.factors.array()[task.test.labels == c])) for c in task.labels}
    assert len(poses) == 10


def test_image_does_not_depend_on_its_batch():
    stream = streams.sprites(noise=0.1, clutter=3, **SMALL)
    task, sample = stream.task(1), stream.eval_sample(2, size=5)
    known = {image.tobytes() for image in task.test.images}
    late = sample.images[sample.labels >= 3]
    assert len(late)
    assert {image.tobytes() for image in late} <= known


def test_similar_shapes():
    def spread(similarity):
        images = streams.sprites(similarity=similarity, image_size=32).task(7).exemplars.images
        return images.astype(float).std(axis=0).mean()

    assert spread(1.0) < 0.5 * spread(0.0)


@pytest.mark.parametrize("k", [-1, 2**40, 2**70, 0.5, "a"])
def test_task_index_out_of_range(k):
    with pytest.raises(BadInput, match="there is no task"):
        streams.sprites().task(k)


def test_last_task_of_an_infinite_stream():
    stream = streams.sprites(**SMALL)
    assert stream.task(np.int64(2**40 - 1)).test.labels.max() == 3 * 2**40 - 1


def test_infinite_stream_has_no_length():
    with pytest.raises(TypeError, match="infinite"):
        len(streams.sprites())
    assert len(streams.sprites(n_tasks=4)) == 4
    assert len(list(streams.sprites(n_tasks=4).take(9))) == 4
