from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from everlearn.learners.naive import Naive
from everlearn.learners.nearest_mean_image import NearestMeanImage
from everlearn.runs import events as tell
from everlearn.runs.evaluate import look_ahead
from everlearn.runs.loop import Play, play
from everlearn.serialization import pack, unpack
from everlearn.streams import Batch, TaskView

from .conftest import tiny


def test_the_story_of_a_task() -> None:
    story = list(play(tiny(n_tasks=1, epochs=2)))
    assert [event.kind for event in story] == [
        "run-started", "task-started", "learned", "learned", "learned", "learned", "scoring", "scored",
        "task-ended", "run-ended",
    ]  # fmt: skip


def test_every_image_is_met_once_an_epoch_and_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Batch] = []
    monkeypatch.setattr(NearestMeanImage, "learn", lambda self, batch: met.append(batch) or {"loss": 0.0})
    run = Play(tiny(n_tasks=1, epochs=2, batch_size=5))
    list(run.events())
    train = run.stream.task(0).train
    half = len(met) // 2
    passes = [
        np.concatenate([b.images for b in met[i : i + half]]).reshape(len(train), -1) for i in (0, half)
    ]
    wanted = sorted(map(bytes, train.images.reshape(len(train), -1)))
    assert [sorted(map(bytes, images)) for images in passes] == [wanted, wanted]
    assert not np.array_equal(*passes)


def test_a_drifting_task_keeps_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Batch] = []
    monkeypatch.setattr(NearestMeanImage, "learn", lambda self, batch: met.append(batch) or {"loss": 0.0})
    run = Play(tiny(n_tasks=1, **{"stream.boundaries": "gradual"}))
    list(run.events())
    assert (np.concatenate([b.labels for b in met]) == run.stream.task(0).train.labels).all()


def test_the_learner_sees_begin_and_end_but_no_test_images(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(NearestMeanImage, "begin", lambda self, view: seen.append(view))
    monkeypatch.setattr(NearestMeanImage, "end", lambda self, view: seen.append(view))
    list(play(tiny(n_tasks=2)))
    assert [type(view) for view in seen] == [TaskView] * 4
    assert [view.index for view in seen] == [0, 0, 1, 1]  # type: ignore[attr-defined]
    assert not hasattr(seen[0], "test")


def test_scores_are_right_answers_on_the_probe() -> None:
    run = Play(tiny(n_tasks=3, **{"evaluation.probe_size": 50}))
    scored = [event for event in run.events() if isinstance(event, tell.Scored)]
    probe = run.stream.eval_sample(3, 50)
    right = run.learner.predict(probe.images) == probe.labels
    assert scored[-1].tasks == (0, 1, 2)
    assert sum(scored[-1].total) == len(probe)
    assert scored[-1].correct == tuple(int(right[probe.tasks == k].sum()) for k in range(3))


@pytest.mark.parametrize(("every", "after"), [(1, [0, 1, 2, 3, 4]), (2, [1, 3, 4]), (10, [4])])
def test_scores_come_every_so_many_tasks_and_at_the_end(every: int, after: list[int]) -> None:
    story = play(tiny(n_tasks=5, **{"evaluation.every": every}))
    assert [event.task for event in story if isinstance(event, tell.Scored)] == after


def test_scores_inside_tasks() -> None:
    settings = {"evaluation.inside_every": 2, "n_tasks": 1, "epochs": 2, "batch_size": 8}
    scored = [event.batch for event in play(tiny(**settings)) if isinstance(event, tell.Scored)]
    assert scored == [2, 4, 6, 8, None]


def test_the_task_is_given_away_only_where_the_stream_does(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []

    def answer(self: NearestMeanImage, images: np.ndarray, tasks: object = None) -> np.ndarray:
        told.append(tasks)
        return np.zeros(len(images), np.int64)

    monkeypatch.setattr(NearestMeanImage, "predict", answer)
    list(play(tiny(n_tasks=1)))
    assert set(map(type, told)) == {type(None)}
    told.clear()
    list(play(tiny(n_tasks=2, **{"stream.scenario": "task-incremental"})))
    assert all(isinstance(tasks, np.ndarray) for tasks in told)


SAME_LABELS = {"stream.scenario": "domain-incremental"}


def ahead(**settings: object) -> list[float | None]:
    return [e.ahead for e in play(tiny(n_tasks=2, **settings)) if isinstance(e, tell.TaskStarted)]


def test_accuracy_ahead_is_measured_before_learning_or_not_at_all() -> None:
    first, second = ahead(**SAME_LABELS)
    assert first == 0.0
    assert second is not None
    assert second > 0.0
    assert ahead(**SAME_LABELS, **{"evaluation.ahead": False}) == [None, None]


def test_nobody_is_asked_ahead_about_classes_that_nobody_has_met() -> None:
    assert "looking-ahead" not in {event.kind for event in play(tiny(n_tasks=2))}
    assert ahead() == [0.0, 0.0]


def test_chance_is_what_the_answers_score_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted over all orders of the answers: 1, 1, 0, 9 on images that are 0, 0, 1, 1."""
    labels, answers = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 9])
    images = np.arange(4, dtype=np.uint8).repeat(256).reshape(4, 16, 16)
    task = replace(Play(tiny()).stream.task(0), load_split=lambda split: Batch(images, labels))
    monkeypatch.setattr(NearestMeanImage, "predict", lambda self, images, tasks=None: answers)
    run = Play(tiny(**SAME_LABELS))
    orders = [np.mean(answers[list(order)] == labels) for order in permutations(range(4))]
    looking = look_ahead(run.learner, run.stream, task)
    assert next(looking) == tell.LookingAhead(0, 4, 4)
    with pytest.raises(StopIteration) as end:
        next(looking)
    assert end.value.value == {"ahead": 0.0, "chance": pytest.approx(np.mean(orders))}


def test_costs_add_up() -> None:
    ended = [e for e in play(tiny("naive", n_tasks=3, epochs=2)) if isinstance(e, tell.TaskEnded)]
    assert [e.n_images for e in ended] == [56, 56, 56]
    assert [b.flops - a.flops for a, b in pairwise(ended)] == [ended[0].flops] * 2


def test_a_play_can_go_on_from_any_safe_event() -> None:
    spec = tiny("er", n_tasks=2, epochs=2, **{"evaluation.inside_every": 3})
    calm = list(play(spec))
    n_safe = sum(event.safe for event in calm)
    for stop in range(n_safe):
        before, state = _until(Play(spec), stop)
        after = Play(spec)
        after.load(unpack(pack(state)))
        assert _lasting([*before, *after.events()]) == _lasting(calm)


def _lasting(story: list[tell.Event]) -> list[tell.Event]:
    """Without the words that only say how far something is; that something is done again after a break."""
    return [e for e in story if not isinstance(e, tell.LookingAhead | tell.Scoring)]


def _until(run: Play, stop: int) -> tuple[list[tell.Event], dict]:
    """The events up to the stop-th safe one, and the state there."""
    told, n_safe = [], 0
    for event in run.events():
        told.append(event)
        n_safe += event.safe
        if n_safe == stop + 1 and event.safe:
            return told, run.state()
    raise AssertionError("there are fewer safe events")


def test_events_do_not_depend_on_the_order_of_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    def several(learn: Callable) -> Callable:
        return lambda self, batch: {"z": 1.0, **learn(self, batch), "a": 2.0}

    monkeypatch.setattr(Naive, "learn", several(Naive.learn))
    run = Play(tiny("naive"))
    _, state = _until(run, 0)
    again = Play(tiny("naive"))
    again.load(unpack(pack(state)))
    ends = [
        next(e for e in p.events() if isinstance(e, tell.TaskEnded)) for p in (Play(tiny("naive")), again)
    ]
    assert str(ends[0].to_json()) == str(ends[1].to_json())
