import copy

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols import (
    Choice,
    Question,
    by_memory,
    by_pixels,
    editable_memory,
    multiple_choice,
    questions,
)
from everlearn.learners import build
from everlearn.serialization import digest
from everlearn.streams import sprites

STREAM = sprites(image_size=16, factor_values=3, classes_per_task=3)


def test_questions_are_about_different_things_and_have_one_right_answer() -> None:
    (asked,) = questions(STREAM, counts=(4,), n_trials=30)
    exemplars = {
        image.tobytes(): label
        for task in STREAM.take(10)
        for image, label in zip(task.exemplars.images, task.exemplars.labels.tolist(), strict=True)
    }
    tests = {
        image.tobytes(): label
        for task in STREAM.take(10)
        for image, label in zip(task.test.images, task.test.labels.tolist(), strict=True)
    }
    shown = [[exemplars[choice.tobytes()] for choice in question.choices] for question in asked]
    queries = [tests[question.query[0].tobytes()] for question in asked]
    assert len(set(queries)) == 30
    assert all(len(set(labels)) == 4 for labels in shown)
    assert [labels[question.answer] for labels, question in zip(shown, asked, strict=True)] == queries


def test_the_right_answer_may_be_anywhere() -> None:
    (asked,) = questions(STREAM, counts=(5,), n_trials=100)
    counts = np.bincount([question.answer for question in asked], minlength=5)
    assert counts.min() >= 8  # 20 expected; a fair die does worse once in a thousand times


def test_questions_depend_on_nothing_but_their_seed() -> None:
    many = questions(STREAM, counts=(2, 3), n_trials=6)
    again, other = (
        questions(STREAM, counts=(3,), n_trials=6),
        questions(STREAM, counts=(3,), n_trials=6, seed=1),
    )
    for one, same in zip(many[1], again[0], strict=True):
        np.testing.assert_array_equal(one.choices, same.choices)
        np.testing.assert_array_equal(one.query, same.query)
        assert one.answer == same.answer
    assert any((a.choices != b.choices).any() for a, b in zip(again[0], other[0], strict=True))


def test_classes_that_were_met_are_left_out() -> None:
    met = {image.tobytes() for task in STREAM.take(2) for image in task.exemplars.images}
    (asked,) = questions(STREAM, 2, counts=(3,), n_trials=5)
    assert not met & {choice.tobytes() for question in asked for choice in question.choices}


def test_one_who_knows_one_who_guesses_and_one_who_is_silent() -> None:
    asked = questions(STREAM, counts=(2, 4), n_trials=20)
    assert multiple_choice(lambda q: q.answer, asked) == (Choice(2, 20, 20), Choice(4, 20, 20))
    assert multiple_choice(lambda _: None, asked) == (Choice(2, 20, 0, 20), Choice(4, 20, 0, 20))
    first = multiple_choice(lambda _: 0, asked)
    assert [each.n_right for each in first] == [sum(q.answer == 0 for q in alike) for alike in asked]


def test_progress_is_told_after_each_answer() -> None:
    told: list[tuple[float, int, str]] = []
    asked = questions(STREAM, counts=(2, 3), n_trials=2)
    multiple_choice(lambda _: 0, asked, progress=lambda *words: told.append(words))
    assert told == [(1, 4, "2 choices"), (2, 4, "2 choices"), (3, 4, "3 choices"), (4, 4, "3 choices")]


def test_pixel_matching_takes_the_nearest_whatever_wraps_around() -> None:
    query = np.full((1, 2, 2), 250, np.uint8)
    choices = np.stack([np.full((2, 2), level, np.uint8) for level in (5, 200, 255)])
    assert by_pixels(Question(query, choices, 0)) == 2


def test_a_learner_chooses_by_its_memory_and_is_left_as_it_was() -> None:
    learner = build("dcl", image_shape=(16, 16), seed=0, width=4)
    editable_memory(learner).add(STREAM.task(0).exemplars)
    before = digest(copy.deepcopy(learner.state()))
    asked = [
        [Question(q.choices[q.answer : q.answer + 1], q.choices, q.answer) for q in alike]
        for alike in questions(STREAM, 1, counts=(3, 5), n_trials=5)
    ]
    with by_memory(learner) as choose:
        found = multiple_choice(choose, asked)
    assert [each.n_right for each in found] == [5, 5]  # asked for the very images it was shown
    assert digest(learner.state()) == before


def test_a_learner_without_memory_is_told_so() -> None:
    with (
        pytest.raises(BadInput, match="keeps no memory"),
        by_memory(build("er", image_shape=(16, 16), seed=0)),
    ):
        pass


def test_answers_are_plain_json() -> None:
    facts = Choice(4, 100, 50, 3).to_json()
    assert (facts["accuracy"], facts["chance"], facts["n_unanswered"]) == (0.5, 0.25, 3)
    assert facts["low"] == pytest.approx(0.4038, abs=1e-4)
    assert facts["high"] == pytest.approx(0.5962, abs=1e-4)


@pytest.mark.parametrize("counts", [(), (1,), (0, 3), (101,)])
def test_impossible_numbers_of_choices_are_refused(counts: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="choices"):
        questions(STREAM, counts=counts, n_trials=1)


@pytest.mark.parametrize("n_trials", [0, -1, 10_001])
def test_impossible_numbers_of_trials_are_refused(n_trials: int) -> None:
    with pytest.raises(BadInput, match="trials"):
        questions(STREAM, counts=(2,), n_trials=n_trials)
