import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everlearn.learners.nearest_mean_image import NearestMeanImage
from everlearn.runs import Record, RunSpec, RunState, record, resume, run
from everlearn.runs.evaluate import evaluate_zero_shot
from everlearn.runs.events import EvaluationProgress, Event, Probed, Scored, TaskStarted, TrainStep
from everlearn.runs.trackers import scalars
from everlearn.streams import Batch

from .conftest import finish, run_until, tiny

SAME_LABELS = {"stream.scenario": "domain-incremental"}
ENVIRONMENTS = {
    "stream.sequence": ["moving-sprites", "sprites", "moving-sprites"],
    "stream.image_size": 16,
    "stream.n_shapes": 2,
    "stream.images_per_shape": 40,
    "stream.images_per_stage": 64,
    "batch_size": 16,
    "evaluation.n_images": 8,
    "learner.size": "tiny",
}


def vase(**settings: Any) -> RunSpec:
    return RunSpec.make(stream="environments", learner="vase", settings={**ENVIRONMENTS, **settings})


def test_scores_count_correct_predictions_of_each_task() -> None:
    state = RunState(tiny(n_tasks=3, **{"evaluation.n_images": 50}))
    scored = [event for event in state.events() if isinstance(event, Scored)]
    sample = state.stream.eval_sample(3, 50)
    is_correct = state.learner.predict(sample.images) == sample.labels
    assert scored[-1].eval_tasks == (0, 1, 2)
    assert sum(scored[-1].n_images) == len(sample)
    assert scored[-1].n_correct == tuple(int(is_correct[sample.tasks == k].sum()) for k in range(3))
    assert scored[-1].accuracy == is_correct.mean()


@pytest.mark.parametrize(("every", "after"), [(1, [0, 1, 2, 3, 4]), (2, [1, 3, 4]), (10, [4])])
def test_evaluation_every_n_tasks_and_at_the_end(every: int, after: list[int]) -> None:
    events = run(tiny(n_tasks=5, **{"evaluation.every_n_tasks": every}))
    assert [event.task for event in events if isinstance(event, Scored)] == after


def test_evaluation_every_n_batches() -> None:
    settings = {"evaluation.every_n_batches": 2, "n_tasks": 1, "epochs": 2, "batch_size": 8}
    scored = [event.n_batches for event in run(tiny(**settings)) if isinstance(event, Scored)]
    assert scored == [2, 4, 6, 8, None]


def test_learner_gets_task_ids_only_from_task_incremental_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def predict(self: NearestMeanImage, images: np.ndarray, tasks: object = None) -> np.ndarray:
        given.append(tasks)
        return np.zeros(len(images), np.int64)

    monkeypatch.setattr(NearestMeanImage, "predict", predict)
    list(run(tiny(n_tasks=1)))
    assert set(map(type, given)) == {type(None)}
    given.clear()
    list(run(tiny(n_tasks=2, **{"stream.scenario": "task-incremental"})))
    assert all(isinstance(tasks, np.ndarray) for tasks in given)


def zero_shot(**settings: object) -> list[float | None]:
    events = run(tiny(n_tasks=2, **settings))
    return [event.zero_shot_accuracy for event in events if isinstance(event, TaskStarted)]


def test_zero_shot_accuracy_is_measured_before_training() -> None:
    first, second = zero_shot(**SAME_LABELS)
    assert first == 0.0
    assert second is not None
    assert second > 0.0
    assert zero_shot(**SAME_LABELS, **{"evaluation.forward_transfer": False}) == [None, None]


def test_zero_shot_accuracy_on_new_labels_is_not_computed() -> None:
    assert not any(getattr(event, "before_training", False) for event in run(tiny(n_tasks=2)))
    assert zero_shot() == [0.0, 0.0]


def test_chance_accuracy_is_the_mean_over_all_orders_of_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, predictions = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 9])
    images = np.arange(4, dtype=np.uint8).repeat(256).reshape(4, 16, 16)
    state = RunState(tiny(**SAME_LABELS))
    task = replace(state.stream.task(0), load_split=lambda split: Batch(images, labels))
    monkeypatch.setattr(NearestMeanImage, "predict", lambda self, images, tasks=None: predictions)
    orders = [np.mean(predictions[list(order)] == labels) for order in permutations(range(4))]
    evaluation = evaluate_zero_shot(state.learner, state.stream, task)
    assert next(evaluation) == EvaluationProgress(0, 4, 4, before_training=True)
    with pytest.raises(StopIteration) as end:
        next(evaluation)
    assert end.value.value == {
        "zero_shot_accuracy": 0.0,
        "chance_accuracy": pytest.approx(np.mean(orders)),
    }


def test_probes_cover_all_environments_from_the_start() -> None:
    probed = [event for event in run(vase(**{"evaluation.every_n_batches": 3})) if isinstance(event, Probed)]
    assert [(each.task, each.n_batches) for each in probed] == [(k, n) for k in range(3) for n in (3, None)]
    assert [each.environment for each in probed[::2]] == ["moving-sprites", "sprites", "moving-sprites"]
    for each in probed:
        assert list(each.results) == ["moving-sprites", "sprites"]
        assert list(each.results["moving-sprites"]) == ["object", "position", "scale", "angle"]
        assert "position" not in each.results["sprites"]
        assert 0 <= each.accuracy <= 1
        assert all(math.isfinite(value) for result in each.results.values() for value in result.values())
    assert scalars(probed[0])["probe/sprites/object"] == probed[0].results["sprites"]["object"]


def test_probes_do_not_change_the_run() -> None:
    often = finish(run(vase(**{"evaluation.every_n_batches": 1})))
    rarely = finish(run(vase(**{"evaluation.every_n_tasks": 100, "evaluation.n_images": 3})))
    assert often.digest == rarely.digest


def test_n_probe_images_sets_the_training_images_of_probes() -> None:
    data = RunState(vase(**{"evaluation.n_probe_images": 20}))._probe_data
    assert [len(each.train) for each in data] == [20, 20]


def test_streams_without_environments_are_probed_as_one() -> None:
    settings = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2, "learner.size": "tiny"}
    spec = RunSpec.make(stream="sprites", learner="cci-vae", settings={**settings, "evaluation.n_images": 8})
    assert [event.environment for event in run(spec) if isinstance(event, Probed)] == ["all", "all"]


@pytest.mark.parametrize("kind", [EvaluationProgress, pytest.param(TrainStep, marks=pytest.mark.more)])
def test_interrupted_run_has_the_same_probes(tmp_path: Path, kind: type[Event]) -> None:
    spec = vase(**{"evaluation.every_n_batches": 2})
    finish(record(spec, tmp_path / "uninterrupted"))
    run_until(
        record(spec, tmp_path / "interrupted"),
        lambda event: isinstance(event, kind) and getattr(event, "task", None) == 1,
    )
    finish(resume(tmp_path / "interrupted"))
    expected, found = Record(tmp_path / "uninterrupted"), Record(tmp_path / "interrupted")
    assert list(expected.probes()) == list(found.probes())
    assert len(list(expected.probes())) == 3 * 3
    assert expected.digest == found.digest
    assert not (expected.folder / "scores.jsonl").exists()


def test_classifiers_are_not_probed(tmp_path: Path) -> None:
    finish(record(tiny(n_tasks=1), tmp_path / "run"))
    assert not list(Record(tmp_path / "run").probes())
    assert not (tmp_path / "run" / "probes.jsonl").exists()
