from collections.abc import Sequence

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.multiple_choice import (
    ChoiceScore,
    MultipleChoice,
    MultipleChoiceResult,
    Question,
    exemplar_matching,
    make_questions,
    match_pixels,
    pool_scores,
    score_choices,
)
from everlearn.learners import build
from everlearn.learners.capabilities import editable_memory
from everlearn.serialization import digest
from everlearn.streams import Batch, sprites

STREAM = sprites(image_size=16, factor_values=3, classes_per_task=3)


def labels_of(batches: Sequence[Batch]) -> dict[bytes, int]:
    return {
        image.tobytes(): int(label)
        for batch in batches
        for image, label in zip(batch.images, batch.labels, strict=True)
    }


score = ChoiceScore.from_counts


def test_questions_are_about_different_classes_and_have_one_correct_choice() -> None:
    (questions,) = make_questions(STREAM, n_choices=(4,), n_trials=30)
    tasks = list(STREAM.take(10))
    exemplars, tests = labels_of([task.exemplars for task in tasks]), labels_of([task.test for task in tasks])
    shown = [[exemplars[choice.tobytes()] for choice in question.choices] for question in questions]
    queries = [tests[question.query[0].tobytes()] for question in questions]
    assert len(set(queries)) == 30
    assert all(len(set(labels)) == 4 for labels in shown)
    assert [labels[q.answer] for labels, q in zip(shown, questions, strict=True)] == queries
    (questions,) = make_questions(STREAM, n_choices=(5,), n_trials=100)
    counts = np.bincount([question.answer for question in questions], minlength=5)
    assert counts.min() >= 8  # 20 expected; lower with a probability of about 0.001


def test_questions_depend_on_the_seed_only() -> None:
    many = make_questions(STREAM, n_choices=(2, 3), n_trials=6)
    again, other = (make_questions(STREAM, n_choices=(3,), n_trials=6, seed=seed) for seed in (0, 1))
    for one, same in zip(many[1], again[0], strict=True):
        np.testing.assert_array_equal(one.choices, same.choices)
        np.testing.assert_array_equal(one.query, same.query)
        assert one.answer == same.answer
    assert any((a.choices != b.choices).any() for a, b in zip(again[0], other[0], strict=True))


def test_trained_classes_are_left_out() -> None:
    trained = {image.tobytes() for task in STREAM.take(2) for image in task.exemplars.images}
    (questions,) = make_questions(STREAM, 2, n_choices=(3,), n_trials=5)
    assert not trained & {choice.tobytes() for question in questions for choice in question.choices}


def test_scores_of_correct_missing_and_constant_answers() -> None:
    questions = make_questions(STREAM, n_choices=(2, 4), n_trials=20)
    assert score_choices(lambda q: q.answer, questions) == (score(2, 20, 20), score(4, 20, 20))
    assert score_choices(lambda _: None, questions) == (score(2, 20, 0, 20), score(4, 20, 0, 20))
    first = score_choices(lambda _: 0, questions)
    assert [each.n_correct for each in first] == [sum(q.answer == 0 for q in some) for some in questions]


def test_pixel_matching_does_not_overflow() -> None:
    query = np.full((1, 2, 2), 250, np.uint8)
    choices = np.stack([np.full((2, 2), level, np.uint8) for level in (5, 200, 255)])
    assert match_pixels(Question(query, choices, 0)) == 2


def test_learner_chooses_by_memory_and_is_restored() -> None:
    learner = build("dcl", image_shape=(16, 16), seed=0, width=4)
    editable_memory(learner).add(STREAM.task(0).exemplars)
    before = digest(learner.state())
    questions = [
        [Question(q.choices[q.answer : q.answer + 1], q.choices, q.answer) for q in some]
        for some in make_questions(STREAM, 1, n_choices=(3, 5), n_trials=5)
    ]
    with exemplar_matching(learner) as choose:
        scores = score_choices(choose, questions)
    assert [each.n_correct for each in scores] == [5, 5], "the queries are stored images"
    assert digest(learner.state()) == before


def test_run_without_a_learner_and_without_memory() -> None:
    calls: list[tuple[float, int, str]] = []
    protocol = MultipleChoice(n_choices=(2, 3), n_trials=2)
    result = protocol.run(None, STREAM, 0, progress=lambda *call: calls.append(call))
    assert list(result.scores) == ["pixel matching"]
    assert (result.stream, result.trials, result.n_requests) == (STREAM.id, 2, None)
    assert calls[-1] == (4, 4, "pixel matching, 3 choices")
    assert result.table().rows[0][:2] == (2, "0.500")
    with pytest.raises(BadInput, match="no exemplar memory"):
        protocol.run(build("er", image_shape=(16, 16), seed=0), STREAM, 0)


def test_json_contains_the_interval() -> None:
    data = score(4, 100, 50, 3).to_json()
    assert (data["accuracy"], data["chance"], data["n_unanswered"]) == (0.5, 0.25, 3)
    assert (data["low"], data["high"]) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert ChoiceScore.from_json(data) == score(4, 100, 50, 3)


def test_pooled_scores_are_sums() -> None:
    results = [
        MultipleChoiceResult(stream="s", trials=10, scores={"a": (score(2, 10, n), score(3, 10, 1))})
        for n in (4, 7)
    ]
    assert pool_scores(results) == {"a": [score(2, 20, 11), score(3, 20, 2)]}


def test_invalid_options_are_refused() -> None:
    for options in ({"n_choices": ()}, {"n_choices": (1,)}, {"n_choices": (101,)}, {"n_trials": 0}):
        with pytest.raises(BadInput, match=next(iter(options))):
            MultipleChoice(**options)
