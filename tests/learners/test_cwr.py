from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.cwr import AR1, CWRStar
from everlearn.learners.cwr_head import CWRHead
from everlearn.networks import make_backbone, module_state
from everlearn.networks.weights import save_weights
from everlearn.streams import Batch

from .toy import FLAT, batch_of, view_of

PLAIN = {**FLAT, "momentum": 0.0, "weight_decay": 0.0, "head_lr": 0.5}


def train(learner: CWRStar, *label_lists: list[int]) -> CWRStar:
    for index, labels in enumerate(label_lists):
        batch = batch_of(labels, index)
        learner.begin(view_of(batch, index))
        for _ in range(2):  # in the first step class weights are zero, and the backbone has no gradient
            learner.learn(batch)
        learner.end(view_of(batch, index))
    return learner


def test_backbone_is_trained_in_the_first_task_only() -> None:
    learner = train(CWRStar(**PLAIN), [0, 1, 1])
    gain = learner.net.backbone.gain.item()
    assert gain != 1.0
    train(learner, [2, 3, 3], [0, 4])
    assert learner.net.backbone.gain.item() == gain


def test_running_statistics_are_frozen_with_the_backbone() -> None:
    from everlearn.streams import sprites

    stream, learner = sprites(image_size=16, factor_values=2, classes_per_task=2), CWRStar.tiny()
    seen = []
    for task in stream.take(3):
        view = task.for_learner()
        learner.begin(view)
        learner.learn(view.train)
        learner.end(view)
        seen.append({name: tensor.clone() for name, tensor in learner.net.backbone.state_dict().items()})
    assert all(torch.equal(seen[0][name], seen[2][name]) for name in seen[0])


def test_rows_of_a_task_are_consolidated_by_counts() -> None:
    """In the second task class 1 returns: two images after four, so w = sqrt(2)."""
    learner = train(CWRStar(**PLAIN), [0, 0, 1, 1, 1, 1])
    before = learner.cwr_head.class_weights[:2].clone()
    new = batch_of([1, 1, 2], 1)
    learner.begin(view_of(new, 1))
    assert not learner.net.head.weight[0].any()
    assert torch.equal(learner.net.head.weight[1], before[1])
    learner.learn(new)
    trained = learner.net.head.weight.detach().clone()
    learner.end(view_of(new, 1))
    centered, w = trained - trained.mean(1, keepdim=True), 2**0.5
    rows = learner.cwr_head.class_weights
    assert torch.equal(rows[0], before[0])
    torch.testing.assert_close(rows[1], (before[1] * w + centered[1]) / (w + 1))
    torch.testing.assert_close(rows[2], centered[2])
    assert learner.cwr_head.n_past[:3].tolist() == [2, 6, 1]
    assert torch.equal(learner.net.head.weight.detach(), rows)


def test_a_task_starts_with_its_own_rows_and_predicts_with_all() -> None:
    learner = train(CWRStar(**PLAIN), [0, 0, 1, 1])
    old = batch_of([0, 0, 1, 1], 0)
    before = learner.predict(old.images)
    learner.begin(view_of(batch_of([1, 1], 5), 1))
    rows, consolidated = learner.net.head.weight.detach(), learner.cwr_head.class_weights
    assert torch.equal(rows[1], consolidated[1])
    assert rows[1].any()
    assert not rows[[0, *range(2, 16)]].any()
    assert (learner.predict(old.images) == before).all()


def test_learning_rates_follow_the_schedule() -> None:
    learner = CWRStar(**{**PLAIN, "head_lr": 0.25, "lr_decay": 0.9})
    rates = []
    for index in range(12):
        learner.begin(view_of(batch_of([index]), index))
        rates.append(learner.optim.param_groups[-1]["lr"])
        learner.end(view_of(batch_of([index]), index))
    expected = [0.25 * (1 - 0.9 / (1 + np.exp(8 - 1.5 * i))) for i in range(1, 12)]
    np.testing.assert_allclose(rates, [0.5, *expected])
    assert rates[-1] < 0.026


def test_initial_weights_from_a_file(tmp_path) -> None:
    net = make_backbone("small-renorm", (16, 16), seed=5)
    save_weights(net, tmp_path / "net.safetensors")
    learner = CWRStar(
        image_shape=(16, 16), backbone="small-renorm", weights=str(tmp_path / "net.safetensors"), seed=0
    )
    assert all(
        torch.equal(a, b) for a, b in zip(learner.net.backbone.parameters(), net.parameters(), strict=True)
    )
    assert learner.supervision == "labelled images, a pretrained network"


def test_weights_of_another_network_are_refused(tmp_path) -> None:
    save_weights(make_backbone("small", (16, 16), seed=5), tmp_path / "net.safetensors")
    with pytest.raises(BadInput, match="another network"):
        CWRStar(image_shape=(16, 16), backbone="pooled", weights=str(tmp_path / "net.safetensors"))
    with pytest.raises(BadInput, match="there are no weights"):
        CWRStar(image_shape=(16, 16), weights=str(tmp_path / "nothing.safetensors"))


CACHED = {"image_shape": (16, 16), "backbone": "small-renorm", "always_frozen": True}


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EVERLEARN_CACHE", str(tmp_path))
    return tmp_path / "activations"


@pytest.mark.parametrize(("learner", "cut"), [(CWRStar, {}), (AR1, {"frozen_layers": 4})])
def test_cached_activations_change_nothing_but_rounding(learner: Any, cut: Any, cache: Path) -> None:
    from everlearn.streams import sprites

    stream = sprites(image_size=16, factor_values=2, classes_per_task=2)
    learners = [learner(**CACHED, **cut, cached=cached) for cached in (False, True)]
    start = module_state(learners[0].net.backbone)
    for each in learners:
        for task in stream.take(2):
            view = task.for_learner()
            each.begin(view)
            each.learn(view.train)
            each.end(view)
    plain, cached = learners
    images = stream.task(1).test.images
    np.testing.assert_allclose(cached.features(images), plain.features(images), atol=0.01)
    torch.testing.assert_close(cached.net.head.weight, plain.net.head.weight, atol=0.01, rtol=0.01)
    assert cached.flops == plain.flops
    assert len(list(cache.iterdir())) == 1
    frozen = [f"convolutions.{number}." for number in range(4)]
    end = module_state(cached.net.backbone)
    assert all(np.array_equal(start[name], end[name]) for name in start if name.startswith(tuple(frozen)))


def test_a_loaded_learner_uses_the_cache_of_the_loaded_weights(cache: Path) -> None:
    batch = Batch(np.arange(4 * 256, dtype=np.uint8).reshape(4, 16, 16), np.array([0, 1, 0, 1]))
    one, other = (AR1(**CACHED, cached=True, frozen_layers=4, seed=seed) for seed in (0, 1))
    one.learn(batch)
    other.load(one.state())
    assert np.array_equal(other.features(batch.images), one.features(batch.images))


def test_only_layers_that_are_always_frozen_can_be_cached() -> None:
    with pytest.raises(BadInput, match="set always_frozen too"):
        CWRStar(image_shape=(16, 16), cached=True)


def test_frozen_layers_can_be_named() -> None:
    by_name, by_number = (
        AR1(image_shape=(16, 16), backbone="mobilenet-v1-0.25", frozen_layers=cut) for cut in ("conv3_1", 4)
    )
    assert len(by_name.backbone_parameters()) == len(by_number.backbone_parameters()) == 60
    with pytest.raises(BadInput, match="conv33"):
        AR1(image_shape=(16, 16), backbone="mobilenet-v1-0.25", frozen_layers="conv33")


def test_consolidation_by_hand() -> None:
    """Three tasks of a head with two features: a class that is new, one that returns, one that is absent."""
    head = CWRHead(torch.zeros(4, 2), centering="class")
    # Task 1: class 0 from 90 images, class 1 from 10; each row loses its own mean.
    head.consolidate(torch.tensor([[5.0, 1.0], [2.0, 6.0], [7.0, 7.0], [0.0, 0.0]]), {0: 90, 1: 10})
    torch.testing.assert_close(
        head.class_weights, torch.tensor([[2.0, -2.0], [-2.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    )
    # Task 2: class 0 returns with 10 images, so w = sqrt(90 / 10) = 3; class 2 is new.
    head.consolidate(torch.tensor([[10.0, 0.0], [4.0, 4.0], [1.0, 3.0], [0.0, 0.0]]), {0: 10, 2: 5})
    # (2 * 3 + 5) / 4 = 2.75
    torch.testing.assert_close(
        head.class_weights, torch.tensor([[2.75, -2.75], [-2.0, 2.0], [-1.0, 1.0], [0.0, 0.0]])
    )
    assert head.n_past.tolist() == [100, 10, 5, 0]
    # Task 3: class 1 returns with 40 images, so w = sqrt(10 / 40) = 1/2: (-2 * 1/2 + 8) / (3/2)
    head.consolidate(torch.tensor([[0.0, 0.0], [16.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), {1: 40})
    torch.testing.assert_close(head.class_weights[1], torch.tensor([7.0, -7.0]) / 1.5)


def test_centering_by_task() -> None:
    head = CWRHead(torch.zeros(3, 2), centering="task")
    head.consolidate(torch.tensor([[1.0, 3.0], [9.0, 9.0], [5.0, 7.0]]), {0: 1, 2: 1})
    torch.testing.assert_close(head.class_weights, torch.tensor([[-3.0, -1.0], [0.0, 0.0], [1.0, 3.0]]))


def test_inference_weights_of_a_new_class() -> None:
    head = CWRHead(torch.zeros(2, 2), centering="class")
    head.consolidate(torch.tensor([[0.0, 2.0], [0.0, 0.0]]), {0: 1})
    trained = torch.tensor([[8.0, 8.0], [9.0, 9.0]])
    torch.testing.assert_close(head.inference_weights(trained), torch.tensor([[-1.0, 1.0], [9.0, 9.0]]))


def first_task(**settings: float) -> AR1:
    learner, batch = AR1(**{**PLAIN, "backbone_lr": 0.5, **settings}), batch_of([0, 1, 1])
    learner.begin(view_of(batch))
    for _ in range(3):
        learner.learn(batch)
    learner.end(view_of(batch))
    return learner


def test_ar1_penalizes_the_backbone_only() -> None:
    learner = first_task(max_importance=1e9)
    assert [each.shape for each in learner.backbone_parameters()] == [learner.net.backbone.gain.shape]
    assert float(learner.penalty.importance[0]) > 0
    assert torch.equal(learner.penalty.reference[0], learner.net.backbone.gain.detach())


def moved(strength: float) -> float:
    learner, new = first_task(strength=strength, max_importance=1e9), batch_of([2, 3, 3], 1)
    before = learner.net.backbone.gain.item()
    learner.begin(view_of(new, 1))
    for _ in range(3):
        learner.learn(new)
    return abs(learner.net.backbone.gain.item() - before)


def test_ar1_penalty_reduces_the_displacement_of_the_backbone() -> None:
    assert 0 < moved(strength=1.0) < 0.9 * moved(strength=0.0)


def test_ar1_importance_is_clipped() -> None:
    unbounded = float(first_task(max_importance=1e9).penalty.importance[0])
    assert float(first_task(max_importance=unbounded / 2).penalty.importance[0]) == unbounded / 2


def test_ar1_consolidates_class_weights() -> None:
    learner = first_task()
    before = learner.cwr_head.class_weights.clone()
    new = batch_of([2, 3, 3], 1)
    learner.begin(view_of(new, 1))
    learner.learn(new)
    learner.end(view_of(new, 1))
    assert torch.equal(learner.cwr_head.class_weights[:2], before[:2])
    torch.testing.assert_close(learner.cwr_head.class_weights.mean(1), torch.zeros(16), atol=1e-6, rtol=0)
