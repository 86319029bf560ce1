"""The nearest of 5,000 exemplars, beside the chunked comparison of the paper's code."""

import time

import numpy as np
import torch
from torch import Tensor

from benchmarks.table import Row, interleaved, ratio_row
from everlearn.memory import ExemplarMemory
from everlearn.memory.search import NearestIndex
from everlearn.networks import to_tensor
from everlearn.networks.pose import poses_from_factors, to_canonical, to_images
from everlearn.streams import sprites

N_TASKS, N_IMAGES, N_CHUNKED = 500, 256, 8
CHUNK = 64
"""Exemplars compared at once in the paper's code."""


def run() -> list[Row]:
    """One thread, the same images after pose normalisation, equal results."""
    torch.set_num_threads(1)
    stream, memory, fine, coarse = sprites(), ExemplarMemory(), NearestIndex(block=2), NearestIndex(block=4)
    for task in stream.take(N_TASKS):
        memory.add(task.exemplars)
    fine.update(memory)
    coarse.update(memory)
    probe = stream.eval_sample(N_TASKS, N_IMAGES)
    assert probe.factors is not None
    images = to_images(to_canonical(to_tensor(probe.images), poses_from_factors(probe.factors)))
    exemplars, few = (
        torch.from_numpy(memory.images.astype(np.float32)),
        torch.from_numpy(images[:N_CHUNKED]),
    )
    assert (chunked(few, exemplars).numpy() == fine.nearest(images[:N_CHUNKED], 1)[0][:, 0]).all()
    seconds = interleaved(
        {
            "chunked": lambda: chunked(few, exemplars),
            "exact": lambda: fine.nearest(images, 1),
            "codes": lambda: coarse.candidates(images, 5),
        },
        rounds=10,
        clock=time.process_time,
    )
    theirs = seconds["chunked"] / N_CHUNKED
    exact, codes = seconds["exact"] / N_IMAGES, seconds["codes"] / N_IMAGES
    return [
        Row("the paper's chunked comparison, 5,000 exemplars", 1 / float(np.median(theirs)), "images/s"),
        Row("nearest exemplar, exact", 1 / float(np.median(exact)), "images/s"),
        ratio_row("nearest exemplar, exact / chunked comparison", theirs, exact, 20),
        Row("5 candidates by codes", 1 / float(np.median(codes)), "images/s"),
        ratio_row("5 candidates by codes / chunked comparison", theirs, codes, 20),
    ]


def chunked(images: Tensor, exemplars: Tensor) -> Tensor:
    """Index of the nearest exemplar by mean squared error, computed in chunks."""
    distances = [
        (images[:, None] - chunk[None]).square().mean(dim=(2, 3)) for chunk in torch.split(exemplars, CHUNK)
    ]
    return torch.cat(distances, dim=1).argmin(dim=1)
