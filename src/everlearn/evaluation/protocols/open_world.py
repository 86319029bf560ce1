"""Open-world protocol: new classes appear unannounced and are detected, grouped and named on request."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation import samples
from everlearn.evaluation.intervals import UNIT, Curve, mean_series
from everlearn.evaluation.novelty import threshold_for
from everlearn.evaluation.protocols import base
from everlearn.learners.capabilities import EditsMemory, Rejects
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting import axes as plot
from everlearn.rng import rng_at
from everlearn.streams import Batch, Stream

Flags = npt.NDArray[np.bool_]

FIRST_GROUP = 2**40
"""Label of the first group; groups are classes of the memory without a name."""
LATEST_START = 0.6
"""Share of the sequence after which no new class appears."""
MAX_VALIDATION = 500
"""Validation images that thresholds are chosen on."""
N_PARTS = 10
"""Parts of the sequence whose accuracies are stored."""


class NamingAccuracy(base.Result):
    """Share of the images of a sequence that a learner names correctly."""

    known: float  # share of images of classes that were known before, named correctly
    new: float | None  # the same for new classes after they were named; None if none was named
    parts: tuple[float, ...]  # share of all images that are named correctly, in each part of the sequence


class OpenWorldResult(base.Result):
    """Accuracy, discoveries, questions and errors, beside a learner that is given all names at once."""

    n_known: int  # classes that were known before
    n_new: int
    n_images: int
    threshold: float  # novelty score above which an image is unknown, if a trained class is nearest
    stored_threshold: float  # the same, if a group or a new class is nearest, whose exemplars are images
    named: NamingAccuracy
    reference: NamingAccuracy  # with the name of every new class at its first image
    discovered: float  # share of new classes that were named
    n_questions: int
    questions_per_class: float  # questions over new classes; known classes that seem new cause some, too
    n_groups: int
    n_mixed_groups: int  # groups with images of several classes
    known_as_unknown: float | None  # share of images of known classes that were called unknown
    unknown_as_known: float | None  # share of images of unknown classes that got a name

    def table(self) -> base.Table:
        rows: list[tuple[Any, ...]] = [
            ("accuracy on classes known before", self.named.known, self.reference.known),
            ("accuracy on new classes, once named", self.named.new, self.reference.new),
            ("new classes discovered", self.discovered, None),
            ("questions per new class", self.questions_per_class, None),
            ("known images called unknown", self.known_as_unknown, None),
            ("unknown images called known", self.unknown_as_known, None),
            ("groups", self.n_groups, None),
            ("groups with several classes", self.n_mixed_groups, None),
        ]
        return base.Table(("measure", "open world", "given all names"), rows)


class OpenWorld(base.Protocol[OpenWorldResult]):
    """Discovery of new classes that appear unannounced among known ones.

    An image whose novelty is above a threshold is unknown and starts a group; images that are similar to a
    group are added to it. When a group has `group_size` images, an oracle names it after most of them, and
    the class is known. The reference is given the name of every class with its first image and stores only
    that image, so its accuracy on new classes is over other images and with fewer exemplars. Thresholds are
    chosen on validation images of known classes.
    """

    requires: ClassVar[tuple[Any, ...]] = (EditsMemory, Rejects)

    n_new: Annotated[int, Field(ge=1, le=10_000)] = 20
    """New classes."""
    n_per_class: Annotated[int, Field(ge=1, le=10_000)] = 10
    """Images of each new class; images of known classes are as many in total."""
    group_size: Annotated[int, Field(ge=1, le=10_000)] = 2
    """Images of a group when its name is asked for."""
    accepted: Annotated[float, Field(ge=0, le=1)] = 0.95
    """Share of known validation images to accept; sets the thresholds."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> OpenWorldResult:
        known, new, sequence = _sequence(stream, n_tasks, self.n_new, self.n_per_class)
        validation = samples.sample_tasks(stream, n_tasks, "val", MAX_VALIDATION)
        with base.restored(learner) as before:
            thresholds = _thresholds(learner, validation, self.accepted, stream.id)
            learner.load(before)
            reference = [_answer_and_store(learner, image) for image in _images(sequence, context, 0)]
            learner.load(before)
            world = _World(learner, known, thresholds, self.group_size)
            for image in _images(sequence, context, 1):
                world.process(image)
        is_old = np.isin(sequence.labels, sorted(known))
        was_known, was_unknown = np.array(world.was_known), np.array(world.was_unknown)
        return OpenWorldResult(
            n_known=len(known),
            n_new=len(new),
            n_images=len(sequence),
            threshold=thresholds[0],
            stored_threshold=thresholds[1],
            named=_named(np.array(world.correct), is_old, was_known),
            reference=_named(np.array(reference), is_old, _seen_before(sequence)),
            discovered=len(world.known & new) / len(new),
            n_questions=world.n_questions,
            questions_per_class=world.n_questions / len(new),
            n_groups=len(world.groups),
            n_mixed_groups=sum(len(set(labels)) > 1 for labels in world.groups.values()),
            known_as_unknown=_mean(was_unknown, was_known),
            unknown_as_known=_mean(~was_unknown, ~was_known),
        )


class _World:
    """The state of an evaluation: groups, known classes, and the outcome for each image so far."""

    def __init__(
        self, learner: Any, known: set[int], thresholds: tuple[float, float], group_size: int
    ) -> None:
        self.learner, self.trained, self.known = learner, known, set(known)
        self.thresholds, self.group_size = thresholds, group_size
        self.groups: dict[int, list[int]] = defaultdict(list)  # true labels of the images of each group
        self.n_questions = 0
        # For each image: whether it was named correctly, called unknown, and of a class known by then.
        self.correct: list[bool] = []
        self.was_unknown: list[bool] = []
        self.was_known: list[bool] = []

    def process(self, image: Batch) -> None:
        """Predict the class of an image; group the image if it is unknown, and name a full group."""
        truth, answer = int(image.labels[0]), int(self.learner.predict(image.images)[0])
        limit = self.thresholds[answer not in self.trained]
        if self.learner.novelty(image.images)[0] > limit:
            answer = FIRST_GROUP + len(self.groups)
        self.correct.append(answer == truth)
        self.was_known.append(truth in self.known)
        self.was_unknown.append(answer >= FIRST_GROUP)
        if answer >= FIRST_GROUP:
            _store(self.learner, image, answer)
            self.groups[answer].append(truth)
            if len(self.groups[answer]) == self.group_size:
                self.name(answer)

    def name(self, group: int) -> None:
        """Name a group after most of its images, and store them under that name."""
        label = Counter(self.groups[group]).most_common(1)[0][0]
        memory = self.learner.memory
        images = memory.images_of(group)
        memory.forget(group)
        memory.add(Batch(images, np.full(len(images), label)))
        self.known.add(label)
        self.n_questions += 1


def _thresholds(learner: Any, validation: Batch, accepted: float, stream: str) -> tuple[float, float]:
    """Novelty thresholds with the exemplars of the training, and with images as exemplars instead."""
    is_second = _seen_before(validation)
    stored, others = validation[~is_second], validation[is_second].images
    if not len(others):
        raise BadInput(f"{stream} has no two validation images of a class for thresholds; set stream.split")
    first = threshold_for(learner.novelty(others), accepted)
    images = samples.canonical(learner, stored.images)
    for label in learner.memory.classes():
        learner.memory.forget(label)
    learner.memory.add(Batch(images, stored.labels))
    return first, threshold_for(learner.novelty(others), accepted)


def _answer_and_store(learner: Any, image: Batch) -> bool:
    """Whether the prediction is correct; a new class is stored with its label."""
    label = int(image.labels[0])
    is_correct = bool(learner.predict(image.images)[0] == label)
    if label not in learner.memory:
        _store(learner, image, label)
    return is_correct


def _store(learner: Any, image: Batch, label: int) -> None:
    """Add an image to the memory, in its canonical pose if the learner estimates poses."""
    learner.memory.add(Batch(samples.canonical(learner, image.images), np.array([label])))


def _sequence(stream: Stream, n_tasks: int, n_new: int, n_per_class: int) -> tuple[set[int], set[int], Batch]:
    """Known labels, new labels, and test images of both in random order; new classes begin one by one."""
    parts, times, new = [], [], list[int]()
    for task, labels in samples.new_classes(stream, n_tasks, n_new):
        for label in labels.tolist():
            parts.append(samples.first_per_label(task.test, np.array([label]), n_per_class))
            start = LATEST_START * len(new) / n_new
            times.append(rng_at(0, "open-world times", label).uniform(len(parts[-1]), start, 1.0))
            new.append(label)
    parts.append(stream.eval_sample(n_tasks, sum(map(len, parts))))
    times.append(rng_at(0, "open-world times of known classes").uniform(len(parts[-1])))
    plain = [Batch(part.images, part.labels) for part in parts]
    order = np.argsort(np.concatenate(times), kind="stable")
    return samples.known_labels(stream, n_tasks), set(new), Batch.concatenate(plain)[order]


def _images(sequence: Batch, context: base.Context, pass_number: int) -> Iterator[Batch]:
    for n in range(len(sequence)):
        yield sequence[n : n + 1]
        context["progress"](pass_number * len(sequence) + n + 1, 2 * len(sequence), "images")


def _seen_before(sequence: Batch) -> Flags:
    """Whether an image of the same class came before."""
    _, first = np.unique(sequence.labels, return_index=True)
    return ~np.isin(np.arange(len(sequence)), first)


def _named(correct: Flags, is_old: Flags, was_known: Flags) -> NamingAccuracy:
    parts = tuple(float(part.mean()) for part in np.array_split(correct, min(N_PARTS, len(correct))))
    return NamingAccuracy(
        known=float(correct[is_old].mean()), new=_mean(correct, was_known & ~is_old), parts=parts
    )


def _mean(values: Flags, where: Flags) -> float | None:
    """The share of true values where a mask is set; None if it is nowhere set."""
    return float(values[where].mean()) if where.any() else None


def _draw(figure: plot.FigureBase, groups: base.Groups[OpenWorldResult], style: FigureStyle) -> None:
    """Share of images that are named correctly while new classes appear."""
    panels = plot.add_panels(figure, 2, columns=2, share_y=True)
    titles = {"named": "names on request", "reference": "given all names"}
    for axes, (key, title) in zip(panels, titles.items(), strict=True):
        lines = [mean_series([_curve(result, key) for result in each.results], UNIT) for each in groups]
        plot.draw_series(axes, lines, style)
        axes.set(title=title, xlabel="part of the sequence")
    plot.unit_y_axis(panels[0], "named correctly")
    plot.label_lines(panels[-1], [each.name for each in groups], style)


def _curve(result: OpenWorldResult, key: str) -> Curve:
    named: NamingAccuracy = getattr(result, key)
    return {float(number): share for number, share in enumerate(named.parts, 1)}


OpenWorld.figures = {"open-world": FigurePart(lambda groups: plot.canvas_height(1, panel_height=2.2), _draw)}
