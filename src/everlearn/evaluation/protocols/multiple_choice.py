"""Multiple-choice protocol: which of several canonical images shows the same object as a query image?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation.intervals import wilson_interval
from everlearn.evaluation.protocols import base
from everlearn.evaluation.samples import first_per_label, new_classes
from everlearn.evaluation.vlm_client import VLMClient, VLMOptions
from everlearn.learners.capabilities import EditsMemory, editable_memory
from everlearn.plotting import FigureStyle, Part, Series
from everlearn.plotting.axes import (
    FigureBase,
    add_panels,
    canvas_height,
    draw_series,
    label_lines,
    unit_y_axis,
)
from everlearn.rng import rng_at
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

PIXEL_MATCHING = "pixel matching"

Choices = Annotated[int, Field(ge=2, le=100)]


@dataclass(frozen=True, eq=False)
class Question:
    """An image of an object in some pose, and canonical images to choose from.

    Attributes:
        query: (1, H, W) or (1, H, W, 3).
        choices: (n, H, W) or (n, H, W, 3).
        answer: index of the correct choice.
    """

    query: Images
    choices: Images
    answer: int


Chooser = Callable[[Question], int | None]
"""Returns the index of a choice; None for no answer."""


class ChoiceScore(base.Result):
    """Correct answers to questions with some number of choices.

    Attributes:
        n_choices: number of choices.
        n_trials: number of questions.
        n_correct: correct answers.
        n_unanswered: questions without an answer; they count as wrong.
        chance: accuracy of random guessing.
        accuracy: share of correct answers.
        low: lower bound of its interval.
        high: upper bound of its interval.
    """

    n_choices: int
    n_trials: int
    n_correct: int
    n_unanswered: int
    chance: float
    accuracy: float
    low: float
    high: float

    @classmethod
    def from_counts(
        cls, n_choices: int, n_trials: int, n_correct: int, n_unanswered: int = 0
    ) -> "ChoiceScore":
        """The score of counted answers, with Wilson's interval."""
        counts = {"n_choices": n_choices, "n_trials": n_trials, "n_correct": n_correct}
        mean, low, high, _ = astuple(wilson_interval(n_correct, n_trials))
        return cls(
            **counts, n_unanswered=n_unanswered, chance=1 / n_choices, accuracy=mean, low=low, high=high
        )


class MultipleChoiceResult(base.Result):
    """Scores of all choosers on the same questions.

    Attributes:
        stream: id of the stream.
        trials: questions per number of choices.
        scores: for each chooser a score per number of choices.
        n_requests: answers requested from a vision-language model; None without one.
        n_cached: answers of the model that were stored before.
        cost: price of the requested answers.
    """

    stream: str
    trials: int
    scores: Mapping[str, tuple[ChoiceScore, ...]]
    n_requests: int | None = None
    n_cached: int | None = None
    cost: float | None = None

    def table(self) -> base.Table:
        rows: list[tuple[Any, ...]] = [
            (each[0].n_choices, f"{each[0].chance:.3f}", *map(_text, each))
            for each in zip(*self.scores.values(), strict=True)
        ]
        return base.Table(("choices", "chance", *self.scores), rows)


class MultipleChoice(VLMOptions, base.Protocol):
    """Matching of a query to one of several canonical images, by pixels, the learner and a VLM.

    All get the same questions about classes that were not trained (Dziadzio et al. 2023, section 5.4).
    """

    name: ClassVar[str] = "multiple-choice"
    requires: ClassVar[tuple[Any, ...]] = (EditsMemory,)
    result: ClassVar[type[base.Result]] = MultipleChoiceResult

    n_choices: Annotated[tuple[Choices, ...], base.SPLIT, Field(min_length=1)] = tuple(range(2, 11))
    """Numbers of choices."""
    n_trials: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Questions per number of choices."""

    def run(
        self, learner: base.Learner | None, stream: Stream, n_tasks: int, **context: Unpack[base.Context]
    ) -> MultipleChoiceResult:
        client = self.client()
        questions = make_questions(stream, n_tasks, n_choices=self.n_choices, n_trials=self.n_trials)
        choosers: dict[str, Chooser] = {PIXEL_MATCHING: match_pixels}
        with ExitStack() as stack:
            if learner is not None:
                name = context.get("learner_name", type(learner).__name__)
                choosers[name] = stack.enter_context(memory_chooser(learner))
            if client is not None:
                choosers[client.model] = client
            progress = context.get("progress", lambda *_: None)
            scores = {
                name: score_choices(choose, questions, partial(_report, progress, name))
                for name, choose in choosers.items()
            }
        return MultipleChoiceResult(stream=stream.id, trials=self.n_trials, scores=scores, **_usage(client))


def make_questions(
    stream: Stream, n_tasks: int = 0, *, n_choices: Sequence[int], n_trials: int, seed: int = 0
) -> list[list[Question]]:
    """For each number of choices n_trials questions, each about another class.

    Args:
        stream: source of the images; queries are test images.
        n_tasks: tasks whose classes are left out.
        n_choices: numbers of choices.
        n_trials: questions per number of choices.
        seed: seed of the choices and their order.

    Example:
        >>> from everlearn.streams import sprites
        >>> questions = make_questions(sprites(image_size=16), n_choices=(2, 5), n_trials=3)
        >>> [[question.choices.shape for question in some] for some in questions]
        [[(2, 16, 16), (2, 16, 16), (2, 16, 16)], [(5, 16, 16), (5, 16, 16), (5, 16, 16)]]
    """
    objects, poses = _objects(stream, n_tasks, max(n_trials, *n_choices))
    return [[_question(objects, poses, n, trial, seed) for trial in range(n_trials)] for n in n_choices]


def score_choices(
    choose: Chooser, questions: Sequence[Sequence[Question]], progress: base.Progress = lambda *_: None
) -> tuple[ChoiceScore, ...]:
    """The scores of a chooser, one for each list of questions with equally many choices."""
    total, done, scores = sum(map(len, questions)), 0, []
    for same_n in questions:
        answers = []
        for question in same_n:
            answers.append(choose(question))
            done += 1
            progress(done, total, f"{len(question.choices)} choices")
        n_correct = sum(given == question.answer for given, question in zip(answers, same_n, strict=True))
        n_choices, n_unanswered = len(same_n[0].choices), answers.count(None)
        scores.append(ChoiceScore.from_counts(n_choices, len(same_n), n_correct, n_unanswered))
    return tuple(scores)


def match_pixels(question: Question) -> int:
    """The choice with the smallest squared distance in pixel space."""
    differences = question.choices.astype(np.int64) - question.query
    return int(np.square(differences).reshape(len(differences), -1).sum(1).argmin())


@contextmanager
def memory_chooser(learner: base.Learner) -> Iterator[Chooser]:
    """A chooser that stores the choices as exemplars and predicts the query; the learner is restored."""
    editable_memory(learner)

    def choose(question: Question) -> int:
        memory = editable_memory(learner)
        for label in memory.classes():
            memory.forget(label)
        memory.add(Batch(question.choices, np.arange(len(question.choices))))
        return int(learner.predict(question.query)[0])

    with base.restored(learner):
        yield choose


def pool_scores(results: Sequence[MultipleChoiceResult]) -> dict[str, list[ChoiceScore]]:
    """The scores of each chooser, summed over results."""
    sums: dict[str, dict[int, list[int]]] = {}
    for name, scores in (item for result in results for item in result.scores.items()):
        for score in scores:
            counts = sums.setdefault(name, {}).setdefault(score.n_choices, [0, 0])
            counts[:] = counts[0] + score.n_correct, counts[1] + score.n_trials
    return {
        name: [ChoiceScore.from_counts(n, n_trials, n_correct) for n, (n_correct, n_trials) in counts.items()]
        for name, counts in sums.items()
    }


def _objects(stream: Stream, n_tasks: int, n: int) -> tuple[Batch, Batch]:
    """Exemplars of n new classes, and their test images."""
    found = [
        (first_per_label(task.exemplars, new, 1), task.test[np.isin(task.test.labels, new)])
        for task, new in new_classes(stream, n_tasks, n)
    ]
    objects, poses = (Batch.concatenate(parts) for parts in zip(*found, strict=True))
    if len(objects) < n or len(np.unique(poses.labels)) < n:
        raise BadInput(
            f"{stream.id} lacks exemplars or test images of some classes; multiple choice needs both"
        )
    return objects, poses


def _question(objects: Batch, poses: Batch, n_choices: int, trial: int, seed: int) -> Question:
    rng = rng_at(seed, "multiple choice", n_choices, trial)
    others = rng.permutation(len(objects))
    shown = np.concatenate([[trial], others[others != trial][: n_choices - 1]])
    order = rng.permutation(n_choices)
    rows = np.flatnonzero(poses.labels == objects.labels[trial])
    query = poses.images[rows[rng.integers(1, len(rows))]]  # (1, H, W)
    return Question(query, objects.images[shown[order]], int(order.argmin()))


def _text(score: ChoiceScore) -> str:
    return f"{score.accuracy:.3f} [{score.low:.3f}, {score.high:.3f}]"


def _report(progress: base.Progress, chooser: str, done: float, total: int, text: str) -> None:
    progress(done, total, f"{chooser}, {text}")


def _usage(client: VLMClient | None) -> dict[str, Any]:
    if client is None:
        return {}
    return {"n_requests": client.n_requests, "n_cached": client.n_cached, "cost": round(client.cost, 6)}


def _draw(figure: FigureBase, groups: base.Groups[MultipleChoiceResult], style: FigureStyle) -> None:
    """Accuracy by number of choices, all seeds pooled, with Wilson's intervals."""
    scores = pool_scores([result for each in groups for result in each.results])
    (axes,) = add_panels(figure, 1)
    draw_series(axes, [_accuracy_series(each) for each in scores.values()], style)
    counts = sorted({score.n_choices for each in scores.values() for score in each})
    x = np.linspace(counts[0], counts[-1])
    axes.plot(x, 1 / x, color=style.color(len(scores)), linewidth=1, linestyle="--", zorder=1)
    unit_y_axis(axes, "accuracy")
    axes.set_xlabel("number of choices")
    axes.set_xticks(counts)
    label_lines(axes, [*scores, "chance"], style)


def _accuracy_series(scores: Sequence[ChoiceScore]) -> Series:
    columns = (
        [score.n_choices for score in scores],
        [score.accuracy for score in scores],
        [score.low for score in scores],
        [score.high for score in scores],
    )
    return Series(*(np.array(column, np.float64) for column in columns))


MultipleChoice.figures = {"multiple-choice": Part(lambda groups: canvas_height(1), _draw)}
