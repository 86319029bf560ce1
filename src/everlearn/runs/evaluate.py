"""How a learner is judged along the way."""

from collections.abc import Generator, Iterator, Sequence

import numpy as np

from everlearn.evaluation import factor_errors
from everlearn.evaluation.environment_data import EnvironmentData, probe_scores
from everlearn.factors import Factors
from everlearn.learners import EstimatesFactors, HasPosterior, Learner
from everlearn.rng import IntArray
from everlearn.runs import events as tell
from everlearn.streams import Batch, Stream, Task

PIECE = 128
"""Images scored between two events, so that progress shows and a signal is heard soon."""


def score(learner: Learner, stream: Stream, k: int, size: int, inside: int | None) -> Iterator[tell.Event]:
    """Judge a learner on a sample of all tasks up to k; `inside` counts the batches if k is not over yet."""
    probe = stream.eval_sample(k + 1, size)
    answers, estimates = [np.zeros(0, np.int64)], []
    for piece in probe.batches(PIECE):
        answers.append(answer(learner, stream, piece))
        if isinstance(learner, EstimatesFactors) and inside is None:
            estimates.append(learner.estimate(piece.images))
        yield tell.Scoring(k, sum(map(len, answers)), len(probe))
    yield _scored(k, probe, np.concatenate(answers), estimates, inside)


def probe(
    learner: HasPosterior,
    scenes: Sequence[EnvironmentData],
    k: int,
    *,
    shown: str,
    seed: int,
    inside: int | None,
) -> Iterator[tell.Event]:
    """Ask what can be read from the codes of a learner that answers nothing, of all that the run shows."""
    found: dict[str, dict[str, float]] = {}
    for scene in scenes:
        found[scene.name] = probe_scores(learner, scene, seed)
        yield tell.Scoring(k, len(found), len(scenes))
    yield tell.Probed(k, shown, found, inside)


def look_ahead(learner: Learner, stream: Stream, task: Task) -> Generator[tell.Event, None, dict[str, float]]:
    """Accuracy on a task before it is learned, and that of chance, for forward transfer.

    A learner that knows nothing answers nothing, so its accuracy would be a baseline of 0 and guessing
    would pass for transfer; chance is instead what the very same answers score when they are dealt to
    the images at random. Nothing without test images.
    """
    if not len(task.test):
        return {}
    if not stream.labels_recur:
        return {"ahead": 0.0}  # nobody can name what nobody has met; asking would only take time
    answers = np.zeros(0, np.int64)
    for piece in task.test.batches(PIECE):
        answers = np.concatenate([answers, answer(learner, stream, piece)])
        yield tell.LookingAhead(task.index, len(answers), len(task.test))
    chance = _chance(answers, task.test.labels)
    return {"ahead": float(np.mean(answers == task.test.labels))} | ({"chance": chance} if chance else {})


def _chance(answers: IntArray, labels: IntArray) -> float:
    """The expected share of right answers over all orders of the answers."""
    known, n_images = np.unique(labels, return_counts=True)
    n_answers = (answers[:, None] == known).sum(axis=0)
    return float((n_answers * n_images).sum() / len(labels) ** 2)


def answer(learner: Learner, stream: Stream, batch: Batch) -> IntArray:
    """What a learner says that the images are."""
    return learner.predict(batch.images, batch.tasks if stream.provides_task_ids else None)


def _scored(
    k: int, probe: Batch, answers: IntArray, estimates: list[Factors], inside: int | None
) -> tell.Scored:
    tasks, rows = np.unique(_tasks_of(probe), return_inverse=True)
    correct = np.bincount(rows[answers == probe.labels], minlength=len(tasks))
    errors: dict[str, float] = {}
    if estimates and probe.factors is not None:
        errors = factor_errors(Factors.concatenate(estimates), probe.factors)
    return tell.Scored(
        task=k,
        tasks=tuple(tasks.tolist()),
        correct=tuple(correct.tolist()),
        total=tuple(np.bincount(rows, minlength=len(tasks)).tolist()),
        batch=inside,
        factor_errors=errors,
    )


def _tasks_of(probe: Batch) -> IntArray:
    if probe.tasks is None:
        raise TypeError("a stream's probe must say which task each of its images came from")
    return probe.tasks
