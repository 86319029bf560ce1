"""Benefit of the pose network of `dcl`: `python -m benchmarks.network_runs [transfer|nuisances] [SEED...]`.

`transfer` trains `dcl` over 500 tasks, as `everlearn run --learner dcl --tasks 500` does, and evaluates it on
a schedule: the network alone on three sets of classes, and at some points, with and without the search, on
all 5,000 classes. A network frozen after n tasks (`train_tasks=n`) is the network at point n with the
exemplars of all 500 tasks in memory. `nuisances` compares ways to estimate poses and to match exemplars in
disturbed images. Trained networks are saved, so that a learner that is added costs only its evaluation.

Results are JSON files in results/dcl/network, written after each point; an interrupted run resumes.
`python -m benchmarks.dcl_page` makes the tables and figures of docs/dcl.md.
"""

import json
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from benchmarks.dcl_runs import RECORDS, RESULTS, SEEDS
from benchmarks.photos.sprites import WARPED, warped
from everlearn import files
from everlearn.evaluation.samples import new_class_images
from everlearn.learners import Learner
from everlearn.learners.dcl import DCL
from everlearn.learners.nearest_mean_image import NearestMeanImage
from everlearn.memory import ExemplarMemory
from everlearn.networks import pose
from everlearn.networks.alignment import CONTRAST
from everlearn.rng import rng_at
from everlearn.runs.recorder import machine
from everlearn.serialization import pack, unpack
from everlearn.streams import Batch, Stream, Task, sprites
from everlearn.streams.stream import Images

FOLDER, STATES = RESULTS / "network", RECORDS / "network"
N_TASKS, BATCH_SIZE = 500, 64
POINTS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 400, 500)
"""Tasks learned at each evaluation of the network alone."""
FROZEN = (0, 1, 2, 5, 20, 500)
"""Those at which all 5,000 classes are tested."""
N_IMAGES, N_NEW, N_FINAL = 1000, 1000, 2500
"""Test images of seen classes, never-trained classes with one image each, and test images of all classes."""

STRENGTHS: Mapping[str, tuple[float, ...]] = {
    "noise": (0.02, 0.08, 0.2),
    "texture": (0.04, 0.1, 0.3),
    "lighting": (0.1, 0.4, 0.8),
    "occluder": (0.01, 0.04, 0.1),
    "clutter": (1, 4, 10),
    "perspective": (0.1, 0.2, 0.4),
    "bending": (0.05, 0.1, 0.2),
}
NUISANCE_TASKS, NUISANCE_IMAGES = 50, 100
NUISANCE_SPLIT = (60, 15, 10)
"""Training, validation and test images per class."""
HIDDEN = (0.0, 0.25, 0.5, 1.0)
"""Shares of an object up to which images with an occluder are counted apart."""
Row = dict[str, Any]


def transfer(seed: int) -> None:
    """Train over 500 tasks and evaluate at each point."""
    path, saved = FOLDER / f"transfer-seed-{seed}.json", STATES / f"transfer-seed-{seed}.safetensors"
    result = _read(path) or {"seed": seed, "machine": machine(torch.device("cpu")), "points": [], "all": []}
    stream, learner = sprites(seed=seed), make(DCL, seed)
    done = result["points"][-1]["tasks"] if result["points"] else -1
    if done >= 0:
        learner.load(unpack(saved.read_bytes()))
    for n_tasks in (point for point in POINTS if point > done):
        for k in range(max(done, 0), n_tasks):
            train(learner, stream.task(k), seed)
        done = n_tasks
        result["points"].append({"tasks": n_tasks, "steps": learner.n_steps, **alone(learner, stream)})
        result["all"] += all_classes(learner, stream, n_tasks) if n_tasks in FROZEN else []
        files.make_folder(saved.parent)
        files.write(saved, pack(learner.state()))
        _write(path, result)


def make(kind: Any, seed: int, **settings: Any) -> Any:
    """A learner for images of the default size."""
    return kind(image_shape=(64, 64), seed=seed, **settings)


def train(
    learner: Learner, task: Task, seed: int, change: Callable[[Batch], Batch] = lambda batch: batch
) -> None:
    """Learn a task as a run does, each image once."""
    view = task.for_learner()
    learner.begin(view)
    for batch in view.train.shuffled(seed, task.index, 0).batches(BATCH_SIZE):
        learner.learn(change(batch))


def alone(learner: DCL, stream: Stream) -> Row:
    """Counts of the network without search: first task, all seen classes, never-trained classes."""
    first, n_tasks = stream.task(0), len(learner.memory) // len(stream.task(0).labels)
    exemplars, new = new_class_images(stream, N_TASKS, N_NEW, 1)
    sets = {
        "first task": (memory_of(first.exemplars), Batch.concatenate([first.val, first.test])),
        "never trained": (memory_of(exemplars), new),
    }
    if n_tasks:
        sets["all seen"] = learner.memory, stream.eval_sample(n_tasks, N_IMAGES)
    return {name: count(learner, *each, search=False) for name, each in sets.items()}


def all_classes(learner: DCL, stream: Stream, n_tasks: int) -> Iterator[Row]:
    """Counts on the classes of all 500 tasks, with and without search; first also for poses from moments."""
    memory = memory_of(*(stream.task(k).exemplars for k in range(N_TASKS)))
    test = stream.eval_sample(N_TASKS, N_FINAL)
    for estimator in ("moments", "network") if n_tasks == 0 else ("network",):
        learner.pose_estimator = estimator
        for search in (True, False):
            counts = count(learner, memory, test, search=search)
            yield {"estimator": estimator, "train_tasks": n_tasks, "search": search, **counts}


def memory_of(*batches: Batch) -> ExemplarMemory:
    """A memory of these exemplars."""
    memory = ExemplarMemory()
    for batch in batches:
        memory.add(batch)
    return memory


def count(learner: DCL, memory: ExemplarMemory, test: Batch, *, search: bool) -> Row:
    """Correct answers with another memory, and milliseconds of CPU time per image."""
    own, n_candidates = learner.memory, learner.n_candidates
    learner.memory, learner.n_candidates = memory, n_candidates if search else 0
    learner.exemplars.cache.clear()
    row = answers(learner, test)
    learner.memory, learner.n_candidates = own, n_candidates
    learner.exemplars.cache.clear()
    return {**row, "classes": len(memory)}


def answers(learner: Learner, test: Batch, hidden: npt.NDArray[np.float64] | None = None) -> Row:
    """Correct answers, images, and milliseconds of CPU time per image.

    With hidden shares, also correct answers and images whose object is hidden up to each of HIDDEN.
    """
    start = time.process_time()
    is_correct = learner.predict(test.images) == test.labels
    milliseconds = 1000 * (time.process_time() - start) / len(test)
    row = {"correct": int(is_correct.sum()), "images": len(test), "milliseconds": round(milliseconds, 2)}
    if hidden is None:
        return row
    parts = [is_correct[np.digitize(hidden, HIDDEN, right=True) == i] for i in range(len(HIDDEN))]
    return {**row, "hidden": [{"correct": int(part.sum()), "images": len(part)} for part in parts]}


class TruePose(DCL):
    """DCL that is given the true pose of each image: an upper bound for pose estimation."""

    given: ClassVar[Mapping[bytes, Tensor]] = {}
    """The pose of each image, by its bytes."""

    def estimate_poses(self, images: Images) -> Tensor:
        return torch.stack([self.given[image.tobytes()] for image in images])


Make = Callable[[int, DCL, NearestMeanImage], Learner]
"""A seed and the trained learners -> the learner that is tested."""


def nuisances(seed: int) -> None:
    """Learners on streams with one nuisance, trained at its greatest strength and tested at all."""
    path = FOLDER / f"nuisances-seed-{seed}.json"
    result = _read(path) or {"seed": seed, "machine": machine(torch.device("cpu")), "rows": []}
    for name in STRENGTHS:
        done = {row["learner"] for row in result["rows"] if row["nuisance"] == name}
        missing = {learner: made for learner, made in LEARNERS.items() if learner not in done}
        if missing:
            result["rows"] += disturbed(seed, name, missing)
            _write(path, result)


def disturbed(seed: int, nuisance: str, learners: Mapping[str, Make]) -> list[Row]:
    """A row for each strength and learner. All see the same images, and the exemplars have no nuisances."""
    dcl, nearest = trained(seed, nuisance)
    made = {name: make_one(seed, dcl, nearest) for name, make_one in learners.items()}
    clean = disturbed_stream(seed, nuisance, 0).eval_sample(NUISANCE_TASKS, NUISANCE_IMAGES)
    rows = []
    for strength in (0, *STRENGTHS[nuisance]):
        stream = disturbed_stream(seed, nuisance, strength)
        test = warping(nuisance, strength)(stream.eval_sample(NUISANCE_TASKS, NUISANCE_IMAGES))
        TruePose.given = true_poses(test)
        hidden = hidden_shares(test.images, clean.images) if nuisance == "occluder" else None
        common = {"nuisance": nuisance, "strength": strength, "steps": dcl.n_steps}
        rows += [{**common, "learner": name, **answers(each, test, hidden)} for name, each in made.items()]
    return rows


def variant(kind: type[DCL], **settings: Any) -> Make:
    """A function that makes a learner with the network and the memory of a trained one."""

    def make_variant(seed: int, dcl: DCL, nearest: NearestMeanImage) -> Learner:
        learner: DCL = make(kind, seed, **settings)
        learner.load(dcl.state())
        return learner

    return make_variant


ROBUST = {"residual": "robust", "illumination": "plane"}
LEARNERS: Mapping[str, Make] = {
    "dcl": lambda seed, dcl, nearest: dcl,
    "moments": variant(DCL, pose_estimator="moments"),
    "true pose": variant(TruePose),
    "nearest": lambda seed, dcl, nearest: nearest,
    "dcl, robust": variant(DCL, **ROBUST),
    "true pose, robust": variant(TruePose, **ROBUST),
}
"""How each learner is made from the trained ones."""


def hidden_shares(images: Images, clean: Images) -> npt.NDArray[np.float64]:
    """The share (n,) of the pixels of an object that differ from those of the same image without occluder."""
    is_object = np.abs(clean.astype(int) - clean[:, :1, :1].astype(int)) > CONTRAST
    hidden = is_object & (images != clean)
    return np.asarray(hidden.sum((1, 2)) / is_object.sum((1, 2)))


def trained(seed: int, nuisance: str) -> tuple[DCL, NearestMeanImage]:
    """Learners that are trained at the greatest strength of a nuisance, and saved."""
    path = STATES / f"{nuisance}-seed-{seed}.safetensors"
    dcl, nearest = make(DCL, seed), make(NearestMeanImage, seed)
    if path.is_file():
        state = unpack(path.read_bytes())
        dcl.load(state["dcl"])
        nearest.load(state["nearest"])
        return dcl, nearest
    warp = warping(nuisance, STRENGTHS[nuisance][-1])
    stream = disturbed_stream(seed, nuisance, STRENGTHS[nuisance][-1])
    for k in range(NUISANCE_TASKS):
        task = stream.task(k)
        for learner in (dcl, nearest):
            train(learner, task, seed, warp)
    files.make_folder(path.parent)
    files.write(path, pack({"dcl": dcl.state(), "nearest": nearest.state()}))
    return dcl, nearest


def disturbed_stream(seed: int, nuisance: str, strength: float) -> Stream:
    """Sprites with one nuisance; warps are applied to finished images."""
    nuisances = {} if nuisance in WARPED else {nuisance: strength}
    return sprites(seed=seed, split=NUISANCE_SPLIT, **nuisances)


def warping(nuisance: str, strength: float) -> Callable[[Batch], Batch]:
    """A function that warps the images of a batch; each has its own warp, determined by its pixels."""

    def warp(batch: Batch) -> Batch:
        if nuisance not in WARPED or not strength:
            return batch
        colored = np.repeat(batch.images[..., None], 3, axis=3)
        rngs = (rng_at(0, "network runs: warp", zlib.crc32(image.tobytes())) for image in batch.images)
        images = [warped(each, nuisance, strength, rng) for each, rng in zip(colored, rngs, strict=True)]
        return replace(batch, images=np.stack(images)[..., 0])

    return warp


def true_poses(test: Batch) -> dict[bytes, Tensor]:
    """The pose of each image, by its bytes."""
    assert test.factors is not None
    poses = pose.poses_from_factors(test.factors)
    return {image.tobytes(): each for image, each in zip(test.images, poses, strict=True)}


def is_finished(result: Row) -> bool:
    """Whether a seed has its last point; each nuisance is a result of its own."""
    return "rows" in result or any(point["tasks"] == N_TASKS for point in result["points"])


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def _write(path: Path, result: Row) -> None:
    files.make_folder(path.parent)
    files.write(path, f"{json.dumps(result)}\n".encode())
    print(path.name, str((result.get("points") or result["rows"])[-1])[:300], flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    words = [word for word in sys.argv[1:] if not word.isdigit()]
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for seed in seeds or SEEDS:
        for experiment in (transfer, nuisances):
            if not words or experiment.__name__ in words:
                experiment(seed)
