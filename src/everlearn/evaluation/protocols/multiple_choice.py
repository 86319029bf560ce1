"""Which of these is it? The same thing found again among several, by anybody who can point."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from everlearn.errors import BadInput, check_range
from everlearn.evaluation.intervals import Interval, wilson_interval
from everlearn.evaluation.protocols.base import editable_memory, of_labels, strangers
from everlearn.learners import Learner
from everlearn.rng import check_seed, rng_at
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

COUNTS = tuple(range(2, 11))
TRIALS = 100
MAX_TRIALS = 10_000
MAX_CHOICES = 100


@dataclass(frozen=True, eq=False)
class Question:
    """A thing in some pose, and several things in their canonical pose, one of which it is.

    Attributes:
        query: (1, H, W) or (1, H, W, 3), the thing asked about.
        choices: (n, H, W) or (n, H, W, 3), what to choose from.
        answer: the number of the right choice, from 0.
    """

    query: Images
    choices: Images
    answer: int


Chooser = Callable[[Question], int | None]
"""Answers with the number of a choice, or with None if it cannot."""
Progress = Callable[[float, int, str], None]


@dataclass(frozen=True)
class Choice:
    """How often the right one of several was chosen.

    Attributes:
        n_choices: how many there were to choose from.
        n_trials: how often was asked.
        n_right: how often the answer was right.
        n_unanswered: how often there was no answer; counted as wrong.
    """

    n_choices: int
    n_trials: int
    n_right: int
    n_unanswered: int = 0

    @property
    def chance(self) -> float:
        """The accuracy of a guess."""
        return 1 / self.n_choices

    @property
    def accuracy(self) -> Interval:
        """The share of right answers, with Wilson's interval."""
        return wilson_interval(self.n_right, self.n_trials)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain JSON values."""
        share = self.accuracy
        found = {"accuracy": share.mean, "low": share.low, "high": share.high}
        return {**asdict(self), "chance": self.chance, **found}


def multiple_choice(
    choose: Chooser, asked: Sequence[Sequence[Question]], *, progress: Progress = lambda *_: None
) -> tuple[Choice, ...]:
    """Put questions to somebody; one answer for each list of questions with equally many choices.

    Dziadzio et al. 2023, section 5.4, ask a vision-language model so, with 2 to 10 choices.

    Args:
        choose: who is asked; `by_pixels`, `by_memory` or an `Endpoint`.
        asked: lists of questions, from `questions`.
        progress: told (done, total, word) after each answer.
    """
    total, done, found = sum(map(len, asked)), 0, []
    for alike in asked:
        answers = []
        for question in alike:
            answers.append(choose(question))
            done += 1
            progress(done, total, f"{len(question.choices)} choices")
        n_right = sum(given == question.answer for given, question in zip(answers, alike, strict=True))
        found.append(Choice(len(alike[0].choices), len(alike), n_right, answers.count(None)))
    return tuple(found)


def questions(
    stream: Stream,
    n_tasks: int = 0,
    *,
    counts: Sequence[int] = COUNTS,
    n_trials: int = TRIALS,
    seed: int = 0,
) -> list[list[Question]]:
    """For each number of choices as many questions as there are trials, each about another class.

    Args:
        stream: where things come from; poses are those of its test images.
        n_tasks: tasks whose classes are left out, because a learner has met them.
        counts: numbers of choices.
        n_trials: questions for each.
        seed: decides which things are to choose from, and in which order.

    Example:
        >>> from everlearn.streams import sprites
        >>> asked = questions(sprites(image_size=16), counts=(2, 5), n_trials=3)
        >>> [[question.choices.shape for question in alike] for alike in asked]
        [[(2, 16, 16), (2, 16, 16), (2, 16, 16)], [(5, 16, 16), (5, 16, 16), (5, 16, 16)]]
    """
    _check_counts(counts)
    check_range("trials", n_trials, 1, MAX_TRIALS)
    check_seed(seed)
    things, poses = _things(stream, n_tasks, max(n_trials, *counts))
    return [[_question(things, poses, n, trial, seed) for trial in range(n_trials)] for n in counts]


def by_pixels(question: Question) -> int:
    """The choice with the smallest squared difference, pixel by pixel: what can be had without learning."""
    apart = question.choices.astype(np.int64) - question.query
    return int(np.square(apart).reshape(len(apart), -1).sum(1).argmin())


@contextmanager
def by_memory(learner: Learner) -> Iterator[Chooser]:
    """A chooser that remembers just the choices, and names what it sees after one of them.

    The learner needs an editable memory; it is left as it was found.
    """
    editable_memory(learner)
    before = copy.deepcopy(learner.state())

    def choose(question: Question) -> int:
        memory = editable_memory(learner)
        for label in memory.classes():
            memory.forget(label)
        memory.add(Batch(question.choices, np.arange(len(question.choices))))
        return int(learner.predict(question.query)[0])

    try:
        yield choose
    finally:
        learner.load(before)


def _things(stream: Stream, n_tasks: int, n: int) -> tuple[Batch, Batch]:
    """N classes: a canonical image of each, and their test images."""
    found = [
        (of_labels(task.exemplars, new, 1), task.test[np.isin(task.test.labels, new)])
        for task, new in strangers(stream, n_tasks, n)
    ]
    things, poses = (Batch.concatenate(parts) for parts in zip(*found, strict=True))
    if len(things) < n or len(np.unique(poses.labels)) < n:
        raise BadInput(
            f"{stream.id} lacks exemplars or test images of some classes; multiple choice needs both"
        )
    return things, poses


def _question(things: Batch, poses: Batch, n_choices: int, trial: int, seed: int) -> Question:
    chance = rng_at(seed, "multiple choice", n_choices, trial)
    others = chance.permutation(len(things))
    shown = np.concatenate([[trial], others[others != trial][: n_choices - 1]])
    order = chance.permutation(n_choices)
    rows = np.flatnonzero(poses.labels == things.labels[trial])
    query = poses.images[rows[chance.integers(1, len(rows))]]  # (1, H, W)
    return Question(query, things.images[shown[order]], int(order.argmin()))


def _check_counts(counts: Sequence[int]) -> None:
    for n in counts:
        if not 2 <= n <= MAX_CHOICES:
            raise BadInput(f"{n} cannot be chosen from; give numbers of choices from 2 to {MAX_CHOICES}")
    if not counts:
        raise BadInput("no number of choices is given; give some, such as 2,5,10")
