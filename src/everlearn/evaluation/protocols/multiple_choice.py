"""Multiple-choice protocol: which of several canonical images shows the same object as a query image?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation.intervals import wilson_interval
from everlearn.evaluation.protocols import base
from everlearn.evaluation.samples import new_class_images
from everlearn.evaluation.vlm_client import VLMOptions
from everlearn.learners.capabilities import EditsMemory, require
from everlearn.plotting import FigurePart, FigureStyle, PlotSeries
from everlearn.plotting import axes as plot
from everlearn.rng import rng_at
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

PIXEL_MATCHING = "pixel matching"

Choices = Annotated[int, Field(ge=2, le=100)]


@dataclass(frozen=True, eq=False)
class Question:
    """An image of an object in some pose, and canonical images to choose from."""

    query: Images  # (1, H, W) or (1, H, W, 3)
    choices: Images  # (n, H, W) or (n, H, W, 3)
    answer: int  # index of the correct choice


AnswerFunction = Callable[[Question], int | None]
"""Returns the index of a choice; None for no answer."""


class ChoiceScore(base.Result):
    """Correct answers to questions with some number of choices."""

    n_choices: int
    n_trials: int
    n_correct: int
    n_unanswered: int  # questions without an answer; they count as wrong
    chance: float  # accuracy of random guessing
    accuracy: float  # share of correct answers, with Wilson's interval
    low: float
    high: float

    @classmethod
    def from_counts(cls, n_choices: int, n_trials: int, n_correct: int, n_unanswered: int = 0) -> Self:
        """The score of counted answers."""
        found = wilson_interval(n_correct, n_trials)
        return cls(
            n_choices=n_choices, n_trials=n_trials, n_correct=n_correct, n_unanswered=n_unanswered,
            chance=1 / n_choices, accuracy=found.mean, low=found.low, high=found.high,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.accuracy:.3f} [{self.low:.3f}, {self.high:.3f}]"


class MultipleChoiceResult(base.Result):
    """Scores of all methods on the same questions."""

    stream: str  # its id
    trials: int  # questions per number of choices
    scores: Mapping[str, tuple[ChoiceScore, ...]]  # for each method a score per number of choices
    n_requests: int | None = None  # answers requested from a vision-language model; None without one
    n_cached: int | None = None  # answers of the model that were stored before
    cost: float | None = None  # price of the requested answers

    def table(self) -> base.Table:
        rows: list[tuple[Any, ...]] = [
            (each[0].n_choices, f"{each[0].chance:.3f}", *map(str, each))
            for each in zip(*self.scores.values(), strict=True)
        ]
        return base.Table(("choices", "chance", *self.scores), rows)


class MultipleChoice(VLMOptions, base.Protocol[MultipleChoiceResult]):
    """Matching of a query to one of several canonical images, by pixels, the learner and a VLM.

    All methods get the same questions about untrained classes (Dziadzio et al. 2023, section 5.4).
    """

    requires: ClassVar[tuple[Any, ...]] = (EditsMemory,)

    n_choices: Annotated[tuple[Choices, ...], base.SPLIT, Field(min_length=1)] = tuple(range(2, 11))
    """Numbers of choices."""
    n_trials: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Questions per number of choices."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> MultipleChoiceResult:
        client, usage = self.client(), dict[str, Any]()
        questions = make_questions(stream, n_tasks, n_choices=self.n_choices, n_trials=self.n_trials)
        methods: dict[str, AnswerFunction] = {PIXEL_MATCHING: match_pixels}
        with ExitStack() as stack:
            if learner is not None:
                methods[context["learner_name"]] = stack.enter_context(exemplar_matching(learner))
            if client is not None:
                methods[client.model] = client
            scores = {
                name: score_choices(choose, questions, context["progress"], name)
                for name, choose in methods.items()
            }
        if client is not None:
            cost = round(client.cost, 6)
            usage = {"n_requests": client.n_requests, "n_cached": client.n_cached, "cost": cost}
        return MultipleChoiceResult(stream=stream.id, trials=self.n_trials, scores=scores, **usage)


def make_questions(
    stream: Stream, n_tasks: int = 0, *, n_choices: Sequence[int], n_trials: int, seed: int = 0
) -> list[list[Question]]:
    """For each number of choices, n_trials questions about different classes that are not in the first tasks.

    Queries are test images; the seed determines the choices and their order.
    """
    n_classes = max(n_trials, *n_choices)
    objects, poses = new_class_images(stream, n_tasks, n_classes)
    if len(np.unique(poses.labels)) < n_classes:
        raise BadInput(f"{stream.id} lacks test images of some classes; multiple choice needs them")
    return [[_question(objects, poses, n, trial, seed) for trial in range(n_trials)] for n in n_choices]


def score_choices(
    choose: AnswerFunction,
    questions: Sequence[Sequence[Question]],
    progress: base.Progress = lambda *_: None,
    name: str = "",
) -> tuple[ChoiceScore, ...]:
    """The scores of a method, one for each list of questions with equally many choices."""
    total, done, scores = sum(map(len, questions)), 0, []
    for same_n in questions:
        answers = []
        for question in same_n:
            answers.append(choose(question))
            done += 1
            progress(done, total, f"{name}, {len(question.choices)} choices")
        n_correct = sum(given == question.answer for given, question in zip(answers, same_n, strict=True))
        n_choices, n_unanswered = len(same_n[0].choices), answers.count(None)
        scores.append(ChoiceScore.from_counts(n_choices, len(same_n), n_correct, n_unanswered))
    return tuple(scores)


def match_pixels(question: Question) -> int:
    """The choice with the smallest squared distance in pixel space."""
    differences = question.choices.astype(np.int64) - question.query
    return int(np.square(differences).reshape(len(differences), -1).sum(1).argmin())


@contextmanager
def exemplar_matching(learner: Any) -> Iterator[AnswerFunction]:
    """A method that stores the choices as exemplars and predicts the query; the learner is restored."""
    require(learner, EditsMemory)

    def choose(question: Question) -> int:
        memory = learner.memory
        for label in memory.classes():
            memory.forget(label)
        memory.add(Batch(question.choices, np.arange(len(question.choices))))
        return int(learner.predict(question.query)[0])

    with base.restored(learner):
        yield choose


def pool_scores(results: Sequence[MultipleChoiceResult]) -> dict[str, list[ChoiceScore]]:
    """The scores of each method, summed over results."""
    sums: dict[str, dict[int, list[int]]] = {}
    for name, scores in (item for result in results for item in result.scores.items()):
        for score in scores:
            counts = sums.setdefault(name, {}).setdefault(score.n_choices, [0, 0])
            counts[:] = counts[0] + score.n_correct, counts[1] + score.n_trials
    return {
        name: [ChoiceScore.from_counts(n, n_trials, n_correct) for n, (n_correct, n_trials) in counts.items()]
        for name, counts in sums.items()
    }


def _question(objects: Batch, poses: Batch, n_choices: int, trial: int, seed: int) -> Question:
    rng = rng_at(seed, "multiple choice", n_choices, trial)
    others = rng.permutation(len(objects))
    shown = np.concatenate([[trial], others[others != trial][: n_choices - 1]])
    order = rng.permutation(n_choices)
    rows = np.flatnonzero(poses.labels == objects.labels[trial])
    query = poses.images[rows[rng.integers(1, len(rows))]]  # (1, H, W)
    return Question(query, objects.images[shown[order]], int(order.argmin()))


def _draw(figure: plot.FigureBase, groups: base.Groups[MultipleChoiceResult], style: FigureStyle) -> None:
    """Accuracy by number of choices, all seeds pooled, with Wilson's intervals."""
    scores = pool_scores([result for each in groups for result in each.results])
    (axes,) = plot.add_panels(figure, 1)
    plot.draw_series(axes, [_accuracy_series(each) for each in scores.values()], style)
    counts = sorted({score.n_choices for each in scores.values() for score in each})
    x = np.linspace(counts[0], counts[-1])
    axes.plot(x, 1 / x, color=style.color(len(scores)), linewidth=1, linestyle="--", zorder=1)
    plot.unit_y_axis(axes, "accuracy")
    axes.set_xlabel("number of choices")
    axes.set_xticks(counts)
    plot.label_lines(axes, [*scores, "chance"], style)


def _accuracy_series(scores: Sequence[ChoiceScore]) -> PlotSeries:
    rows = [(score.n_choices, score.accuracy, score.low, score.high) for score in scores]
    return PlotSeries(*np.array(rows, np.float64).T)


MultipleChoice.figures = {"multiple-choice": FigurePart(lambda groups: plot.canvas_height(1), _draw)}
