from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.naive import Naive
from everlearn.learners.nearest_mean_image import NearestMeanImage
from everlearn.runs.events import EvaluationProgress, Event, TaskEnded
from everlearn.runs.loop import RunState, run
from everlearn.runs.spec import RunSpec
from everlearn.serialization import Tree, pack, unpack
from everlearn.streams import Batch, TaskView

from .conftest import tiny


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """The batches that a learner is trained on."""
    seen: list[Batch] = []
    monkeypatch.setattr(NearestMeanImage, "learn", lambda self, batch: seen.append(batch) or {"loss": 0.0})
    return seen


def test_events_of_a_task() -> None:
    assert [event.kind for event in run(tiny(n_tasks=1, epochs=2))] == [
        "run-started", "task-started", *["train-step"] * 4, "evaluation-progress", "scored", "task-ended",
        "run-ended",
    ]  # fmt: skip


def test_every_epoch_has_all_images_in_another_order(batches: list[Batch]) -> None:
    state = RunState(tiny(n_tasks=1, epochs=2, batch_size=5))
    list(state.events())
    train, half = state.stream.task(0).train, len(batches) // 2
    epochs = [
        np.concatenate([b.images for b in some]).reshape(len(train), -1)
        for some in (batches[:half], batches[half:])
    ]
    expected = sorted(map(bytes, train.images.reshape(len(train), -1)))
    assert [sorted(map(bytes, images)) for images in epochs] == [expected, expected]
    assert not np.array_equal(*epochs)


def test_drifting_task_keeps_its_order(batches: list[Batch]) -> None:
    state = RunState(tiny(n_tasks=1, **{"stream.boundaries": "gradual"}))
    list(state.events())
    assert (np.concatenate([b.labels for b in batches]) == state.stream.task(0).train.labels).all()


def test_learner_gets_task_views_without_test_images(monkeypatch: pytest.MonkeyPatch) -> None:
    views: list[TaskView] = []
    monkeypatch.setattr(NearestMeanImage, "begin", lambda self, view: views.append(view))
    monkeypatch.setattr(NearestMeanImage, "end", lambda self, view: views.append(view))
    list(run(tiny(n_tasks=2)))
    assert [type(view) for view in views] == [TaskView] * 4
    assert [view.index for view in views] == [0, 0, 1, 1]
    assert not hasattr(views[0], "test")


def test_last_evaluation_may_have_more_images() -> None:
    spec = tiny("nearest", **{"evaluation.n_images": 2, "evaluation.n_final_images": 6})
    scored = [event.to_json() for event in run(spec) if event.kind == "scored"]
    assert [sum(event["n_images"]) for event in scored] == [2] * (len(scored) - 1) + [6]
    without = tiny("nearest", **{"evaluation.n_images": 2})
    assert "n_final_images" not in without.to_json()
    assert RunSpec.from_json(spec.to_json()) == spec != without


def test_costs_add_up() -> None:
    ended = [e for e in run(tiny("naive", n_tasks=3, epochs=2)) if isinstance(e, TaskEnded)]
    assert [e.n_images for e in ended] == [56, 56, 56]
    assert [b.flops - a.flops for a, b in pairwise(ended)] == [ended[0].flops] * 2


def test_run_continues_from_every_checkpointable_event() -> None:
    spec = tiny("er", n_tasks=2, epochs=2, **{"evaluation.every_n_batches": 3})
    uninterrupted = list(run(spec))
    for stop in range(sum(event.checkpointable for event in uninterrupted)):
        before, state = _state_after(RunState(spec), stop)
        after = RunState(spec)
        after.load(unpack(pack(state)))
        assert _without_progress([*before, *after.events()]) == _without_progress(uninterrupted)


def _without_progress(events: list[Event]) -> list[Event]:
    """An evaluation is repeated after an interruption, and so is its progress."""
    return [event for event in events if not isinstance(event, EvaluationProgress)]


def _state_after(state: RunState, stop: int) -> tuple[list[Event], Tree]:
    """The events up to a checkpointable one, and the state after it."""
    events = []
    for event in state.events():
        events.append(event)
        if event.checkpointable and sum(each.checkpointable for each in events) == stop + 1:
            return events, state.state()
    raise AssertionError("there are fewer events")


def test_order_of_losses_survives_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_more(learn: Callable) -> Callable:
        return lambda self, batch: {"z": 1.0, **learn(self, batch), "a": 2.0}

    monkeypatch.setattr(Naive, "learn", with_more(Naive.learn))
    _, state = _state_after(RunState(tiny("naive")), 0)
    resumed = RunState(tiny("naive"))
    resumed.load(unpack(pack(state)))
    ends = [
        next(event for event in each.events() if isinstance(event, TaskEnded))
        for each in (RunState(tiny("naive")), resumed)
    ]
    assert str(ends[0].to_json()) == str(ends[1].to_json())


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (
            {"stream.image_size": 512, "stream.rgb": True, "evaluation.n_images": 1_000_000},
            r"and 1,000,000 evaluation images need (786|8\d\d) GB, but this machine has",
        ),
        ({"n_tasks": 5, "stream.n_tasks": 2}, r"n_tasks is 5, but .* has only 2"),
        pytest.param(
            {"device": "cuda:0"},
            "device is cuda:0, but torch finds no such device",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU"),
        ),
    ],
)
def test_impossible_run_is_rejected_before_it_starts(settings: dict[str, object], error: str) -> None:
    with pytest.raises(BadInput, match=error):
        run(tiny(**settings))
