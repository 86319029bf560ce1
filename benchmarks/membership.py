"""Membership test of erased classes: `python -m benchmarks.membership`, and `--page` for the table alone.

Can an attacker tell from what remains that an erased class was taught? The attacker has images of the erased
class and of classes that were never taught, and scores each with the remaining memory and network. The area
under the ROC curve (AUC) is the probability that an image of the erased class is scored as more familiar than
one of a class that was never taught. The reference never saw the erased class: its AUC is not 0.5 for a
single class, since some shapes are more like the others. An attack succeeds as far as the two differ.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.page_sections import replace_section
from benchmarks.table import machine
from everlearn import Recogniser
from everlearn.evaluation import samples
from everlearn.evaluation.intervals import Interval, bootstrap_interval
from everlearn.evaluation.novelty import roc
from everlearn.learners import DCL, build
from everlearn.networks import pose
from everlearn.rng import rng_at
from everlearn.streams import Batch, Stream, sprites

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "results" / "membership" / "membership.json"
PAGE = ROOT / "docs" / "erasure.md"
BEGIN = "<!-- membership: written by python -m benchmarks.membership -->"
END = "<!-- end of membership -->"

SEEDS = (0, 1, 2)
N_ERASED = 8
"""Erased classes for each seed."""
N_TASKS, N_OTHER_TASKS, CLASSES_PER_TASK = 4, 2, 6
"""Tasks that are taught, and tasks whose classes are never taught."""
N_THINGS = 12
"""Classes of a memory of `everlearn teach`."""
N_IMAGES, N_ASKED = 12, 6
"""Images of each class that the attacker scores with a learner, and of others with a memory."""
SIZE = 32
PLACEHOLDER = "something else"
"""What the reference of `teach` is taught, and forgets, in place of the erased class."""
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "dcl": ("dcl", {"width": 8, "input_size": SIZE, "skip_threshold": 0.0}),
    "dcl, moments": ("dcl", {"pose_estimator": "moments"}),
    "dcl-features": ("dcl-features", {"input_size": SIZE}),
}
"""Learners and settings; only the first has a network that is trained."""
STATES = ("before", "erased", "reference")
ATTACKS = {
    "novelty": "novelty score",
    "residual": "residual of the best exemplar",
    "pose": "error of the pose network",
    "confidence": "confidence",
    "similarity": "similarity to the best class",
}

Scores = dict[str, np.ndarray[Any, np.dtype[np.float64]]]
"""A score of each image by attack; low for what is familiar."""
Areas = dict[str, dict[str, float]]
"""AUC by attack and state."""


def run(seeds: tuple[int, ...] = SEEDS, n_erased: int = N_ERASED) -> list[dict[str, Any]]:
    """AUC of every attack on every erased class: before erasing, after it, and of the reference."""
    found = []
    for seed in seeds:
        stream = sprites(image_size=SIZE, factor_values=4, classes_per_task=CLASSES_PER_TASK, seed=seed)
        for method, areas in (
            *_learner_areas(stream, seed, n_erased),
            *_memory_areas(stream, seed, n_erased),
        ):
            found += [{"method": method, "seed": seed, "attack": name, **areas[name]} for name in areas]
            print(method, seed, {name: round(each["erased"], 3) for name, each in areas.items()}, flush=True)
    return found


def _learner_areas(stream: Stream, seed: int, n_erased: int) -> Iterator[tuple[str, Areas]]:
    others = Batch.concatenate([stream.task(N_TASKS + k).train for k in range(N_OTHER_TASKS)])
    others = _some(others)
    for name in LEARNERS:
        full = _train(name, stream, seed, without=None)
        state = full.state()
        for label in _chosen(np.arange(N_TASKS * CLASSES_PER_TASK), seed, n_erased):
            own = _some(_of_class(stream.task(label // CLASSES_PER_TASK).train, label))
            full.load(state)
            scores = {"before": (_attack(full, own), _attack(full, others))}
            full.memory.forget(label)
            full.load(full.state())  # what a file holds
            scores["erased"] = _attack(full, own), _attack(full, others)
            reference = _train(name, stream, seed, without=label)
            scores["reference"] = _attack(reference, own), _attack(reference, others)
            yield name, _areas(scores)


def _train(name: str, stream: Stream, seed: int, without: int | None) -> Any:
    """A learner of all tasks; the class that is left out is in no batch, and neither is its exemplar."""
    method, settings = LEARNERS[name]
    learner: Any = build(method, image_shape=stream.image_shape, seed=seed, **settings)
    for task in stream.take(N_TASKS):
        parts = {name: getattr(task, name) for name in ("train", "val", "exemplars")}
        kept = {name: batch[batch.labels != without] for name, batch in parts.items()}
        view: Any = SimpleNamespace(index=task.index, labels=task.labels, **kept)
        learner.begin(view)
        for batch in view.train.shuffled(seed, task.index).batches(32):
            learner.learn(batch)
        learner.end(view)
    return learner


def _attack(learner: Any, batch: Batch) -> Scores:
    """The scores of images by all attacks; the attacker knows the true poses."""
    flat = batch.images.reshape(len(batch), -1).astype(np.float64)
    contrast = np.square(flat - flat[:, :1]).sum(1)
    _, residuals = learner.nearest_exemplars(batch.images, 1)
    scores = {"novelty": learner.novelty(batch.images), "residual": residuals[:, 0] / contrast}
    if isinstance(learner, DCL) and learner.pose_estimator == "network" and batch.factors is not None:
        errors = learner.estimate_poses(batch.images) - pose.poses_from_factors(batch.factors)
        scores["pose"] = errors.abs().mean(1).double().numpy()
    return scores


def _memory_areas(stream: Stream, seed: int, n_erased: int) -> Iterator[tuple[str, Areas]]:
    """AUC of the attacks on a memory of `everlearn teach`, which is not trained."""
    tasks = [stream.task(k) for k in range(N_THINGS // CLASSES_PER_TASK)]
    taught = Batch.concatenate([task.exemplars for task in tasks])
    others = _some(stream.task(N_TASKS).train, N_ASKED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Recogniser.open(folder / "full", features="gradients") as memory:
            _teach(memory, taught)
        for label in _chosen(taught.labels, seed, n_erased):
            own = _some(_of_class(tasks[label // CLASSES_PER_TASK].train, label))
            shutil.copytree(folder / "full", folder / f"erased {label}")
            with Recogniser(folder / f"erased {label}") as memory:
                scores = {"before": (_ask(memory, own), _ask(memory, others))}
                memory.forget(str(label))
                scores["erased"] = _ask(memory, own), _ask(memory, others)
            with Recogniser.open(folder / f"without {label}", features="gradients") as memory:
                _teach(memory, taught, without=label)
                memory.forget(PLACEHOLDER)
                scores["reference"] = _ask(memory, own), _ask(memory, others)
            yield "teach", _areas(scores)


def _teach(memory: Recogniser, exemplars: Batch, without: int | None = None) -> None:
    """Teach all exemplars, or something else in place of one class."""
    for image, label in zip(exemplars.images, exemplars.labels.tolist(), strict=True):
        if label != without:
            memory.teach(image, str(label))
        else:  # so that the attacker learns nothing from the fact that something has been erased
            memory.teach(np.tri(SIZE, dtype=np.uint8) * 200, PLACEHOLDER)


def _ask(memory: Recogniser, batch: Batch) -> Scores:
    answers = memory.ask(list(batch.images))
    return {
        "confidence": -np.array([answer.confidence for answer in answers]),
        "similarity": -np.array([answer.scores[0] for answer in answers]),
    }


def _areas(scores: dict[str, tuple[Scores, Scores]]) -> Areas:
    return {
        attack: {state: roc(own[attack], others[attack]).area for state, (own, others) in scores.items()}
        for attack in scores["before"][0]
    }


def _of_class(batch: Batch, label: int) -> Batch:
    return batch[batch.labels == label]


def _some(batch: Batch, n: int = N_IMAGES) -> Batch:
    """A few images of each class, spread over its poses."""
    parts = [samples.subsample(_of_class(batch, int(label)), n) for label in np.unique(batch.labels)]
    return Batch.concatenate(parts)


def _chosen(labels: np.ndarray[Any, Any], seed: int, n: int) -> list[int]:
    return [int(labels[i]) for i in rng_at(seed, "erased classes").permutation(len(labels))[:n]]


def table(rows: list[dict[str, Any]]) -> str:
    """Mean AUC over erased classes with bootstrap intervals, in Markdown."""
    lines = [
        "| memory | attack by | before erasing | after erasing | never taught | difference |",
        "|---|---|---|---|---|---|",
    ]
    for method in (*LEARNERS, "teach"):
        for attack, title in ATTACKS.items():
            some = [row for row in rows if row["method"] == method and row["attack"] == attack]
            if some:
                cells = [_cell([row[state] for row in some]) for state in STATES]
                cells.append(_cell([row["erased"] - row["reference"] for row in some]))
                lines.append(f"| `{method}` | {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    found: Interval = bootstrap_interval(values)
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"


def with_table(text: str) -> str:
    """The page with an updated table."""
    return replace_section(text, BEGIN, END, table(json.loads(RECORD.read_text("utf-8"))["rows"]))


def main(words: list[str], measure: Callable[[], list[dict[str, Any]]] = run) -> None:
    """Measure and store the record, then write the page."""
    if "--page" not in words:
        settings = {"learners": LEARNERS, "n_tasks": N_TASKS, "n_things": N_THINGS, "n_images": N_IMAGES}
        rows = [
            {key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()}
            for row in measure()
        ]
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        record = {"machine": machine(), "settings": settings, "rows": rows}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
