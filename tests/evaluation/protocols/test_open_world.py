import json

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import ResultGroup
from everlearn.evaluation.protocols.open_world import FIRST_GROUP, N_PARTS, OpenWorld, OpenWorldResult
from everlearn.learners import DCL
from everlearn.plotting import STYLES, draw_parts
from everlearn.rng import IntArray
from everlearn.streams import Batch, Stream, sprites
from everlearn.streams.stream import Images

from .oracle_learners import N_TASKS, ConstantLearner, OracleLearner


@pytest.fixture(scope="module")
def stream() -> Stream:
    """Four test images of each class."""
    return sprites(image_size=16, factor_values=3, classes_per_task=3, split=(12, 6, 12))


class Discoverer(OracleLearner):
    """An oracle that also knows which unknown images show the same thing."""

    def class_of(self, label: int) -> int | None:
        """The class or group whose exemplars show images of a label."""
        stored = (
            (int(each), int(self.truth.get(image.tobytes(), each)))
            for each, image in zip(self.memory.labels, self.memory.images, strict=True)
        )
        return next((each for each, truth in stored if truth == label), None)

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        found = [self.class_of(label) for label in self._labels(images)]
        return np.array([-1 if label is None else label for label in found])

    def novelty(self, images: Images) -> np.ndarray:
        return np.array([float(self.class_of(label) is None) for label in self._labels(images)])


class Merger(Discoverer):
    """It puts all unknown images into one group."""

    def class_of(self, label: int) -> int | None:
        groups = [each for each in self.memory.classes() if each >= FIRST_GROUP]
        return label if label in self.memory else next(iter(groups), None)


def evaluate(learner: OracleLearner, stream: Stream, **options: int) -> OpenWorldResult:
    before = learner.state()
    result = OpenWorld(**{"n_new": 4, "n_per_class": 4, **options}).run(learner, stream, N_TASKS)
    np.testing.assert_equal(learner.state(), before)
    return result


def test_oracle_discovers_everything_with_one_question_per_class(stream: Stream) -> None:
    result = evaluate(Discoverer(stream), stream, group_size=2)
    assert (result.n_known, result.n_new, result.n_images) == (6, 4, 32)
    assert (result.discovered, result.questions_per_class) == (1, 1)
    assert (result.n_groups, result.n_mixed_groups) == (4, 0)
    assert (result.known_as_unknown, result.unknown_as_known) == (0, 0)
    assert (result.named.known, result.named.new, result.reference.known, result.reference.new) == (
        1,
        1,
        1,
        1,
    )
    n_unnamed = [
        round(result.n_images * (1 - np.mean(each.parts))) for each in (result.named, result.reference)
    ]
    assert len(result.named.parts) == N_PARTS
    assert n_unnamed[0] == 2 * n_unnamed[1] == 8, (
        "two images of a class before its question, one for the reference"
    )


def test_a_group_that_is_never_full_is_not_named(stream: Stream) -> None:
    result = evaluate(Discoverer(stream), stream, group_size=5)
    assert (result.discovered, result.n_questions, result.n_groups) == (0, 0, 4)
    assert result.named.new is None


def test_mixed_groups_are_counted(stream: Stream) -> None:
    result = evaluate(Merger(stream), stream, group_size=6)
    assert 1 <= result.n_mixed_groups <= result.n_groups
    assert result.discovered < 1


def test_a_learner_that_accepts_everything_discovers_nothing(stream: Stream) -> None:
    result = evaluate(ConstantLearner(stream), stream)
    assert (result.discovered, result.n_groups, result.unknown_as_known) == (0, 0, 1)
    assert 0 < result.named.known < 0.5


def test_dcl_is_evaluated_and_read_again(stream: Stream) -> None:
    learner = DCL.tiny(image_shape=stream.image_shape)
    for task in stream.take(N_TASKS):
        learner.begin(task.for_learner())
    result = OpenWorld(n_new=3, n_per_class=3, accepted=0.1).run(learner, stream, N_TASKS)
    assert result.n_groups > 0
    assert OpenWorldResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    assert ("groups", result.n_groups, None) in result.table().rows
    (part,) = OpenWorld.figures.values()
    drawn = draw_parts([ResultGroup("dcl", [result])], STYLES["light"], part)
    shown = [axes.get_lines()[0].get_ydata().tolist() for axes in drawn.axes]
    assert shown == [list(result.named.parts), list(result.reference.parts)]


def test_thresholds_need_two_images_of_a_class(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    one = stream.task(0).val[:1]
    monkeypatch.setattr("everlearn.evaluation.samples.sample_tasks", lambda *_: Batch(one.images, one.labels))
    with pytest.raises(BadInput, match="no two validation images of a class"):
        evaluate(Discoverer(stream), stream)
