import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.naive import Naive
from everlearn.networks import make_backbone, module_state, transfer_optimizer_state
from everlearn.networks.normalization import BatchRenorm
from everlearn.networks.weights import save_weights
from everlearn.streams import Batch
from tests.learners.toy import FLAT, batch_of, cross_entropy, gradients, head_of, set_head, some_head


def test_sgd_step_follows_the_gradient_of_cross_entropy() -> None:
    learner, batch = Naive(**FLAT), batch_of([5, 7, 5])
    learner.add_labels(batch.labels)
    before = some_head(2)
    set_head(learner, before)
    assert learner.learn(batch)["loss"] == pytest.approx(cross_entropy(before, batch, [0, 1, 0]), rel=1e-6)
    expected = before - 0.5 * gradients(before, batch, [0, 1, 0]).mean(0)
    np.testing.assert_allclose(head_of(learner), expected, atol=1e-6)


def test_momentum() -> None:
    learner, batch = Naive(**FLAT, momentum=0.5), batch_of([5, 7, 5])
    learner.add_labels(batch.labels)
    set_head(learner, some_head(2))
    states = [head_of(learner)]
    for _ in range(2):
        with torch.no_grad():
            learner.net.backbone.gain.fill_(1.0)  # type: ignore[operator, union-attr]
        learner.learn(batch)
        states.append(head_of(learner))
    first = states[1] - states[0]
    expected = 0.5 * first - 0.5 * gradients(states[1], batch, [0, 1, 0]).mean(0)
    np.testing.assert_allclose(states[2] - states[1], expected, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_growing_head_does_not_change_training_of_old_labels(optimizer: str) -> None:
    momentum = 0.9 if optimizer == "sgd" else 0.0
    batch, settings = batch_of([0, 1]), {**FLAT, "optimizer": optimizer, "momentum": momentum}

    def go(grow: bool) -> np.ndarray:
        learner = Naive(**settings)
        learner.learn(batch)
        if grow:
            learner.net.head.resize(100)
            learner.optim = transfer_optimizer_state(learner.optim, learner.make_optimizer())
        learner.learn(batch)
        return head_of(learner)

    np.testing.assert_array_equal(go(grow=True), go(grow=False))


def test_reset_restores_initial_weights() -> None:
    learner = Naive(image_shape=(16, 16), seed=4)
    first = module_state(learner.net.backbone)
    for weight in learner.parameters():
        weight.detach().add_(1.0)
    learner.add_labels(np.array([1, 2]))
    learner.reset()
    assert learner.net.head.labels == []
    assert all((first[name] == array).all() for name, array in module_state(learner.net.backbone).items())


def test_flops_count_forward_and_backward() -> None:
    learner = Naive(image_shape=(2, 2), backbone="mlp")
    learner.learn(batch_of([0, 1, 1]))
    forward = 2 * (4 * 400 + 400 * 400)
    assert learner.flops == 3 * 3 * forward


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"momentum": 0.9}, "adam has its own"),
        ({"backbone": "smal"}, "did you mean 'small'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], word: str) -> None:
    with pytest.raises(BadInput, match=word):
        Naive(**settings)  # type: ignore[arg-type]


def test_pretrained_batch_normalization_becomes_renormalization(tmp_path) -> None:
    net = make_backbone("pooled", (16, 16), 1)
    net(torch.rand(8, 1, 16, 16))
    save_weights(net, tmp_path / "net.safetensors")
    images = np.random.default_rng(0).integers(0, 256, (8, 16, 16), np.uint8)
    settings = {"image_shape": (16, 16), "backbone": "pooled", "weights": str(tmp_path / "net.safetensors")}
    own, renorm = Naive(**settings), Naive(**settings, norm="renorm")
    assert np.allclose(own.features(images), renorm.features(images), atol=1e-4)
    assert any(isinstance(each, BatchRenorm) for each in renorm.net.modules())
    with pytest.raises(BadInput, match="set norm to renorm"):
        Naive(**settings, norm="group")


def test_weights_are_loaded_and_their_batch_normalization_is_frozen(tmp_path) -> None:
    net = make_backbone("pooled", (16, 16), seed=5)
    save_weights(net, tmp_path / "net.safetensors")
    learner = Naive(image_shape=(16, 16), backbone="pooled", weights=str(tmp_path / "net.safetensors"))
    assert learner.supervision == "labelled images, a pretrained network"
    before = module_state(learner.net.backbone)
    assert all(np.array_equal(before[name], array) for name, array in module_state(net).items())
    images = np.random.default_rng(0).integers(0, 256, (4, 16, 16)).astype(np.uint8)
    for _ in range(2):  # in the first step the head is zero, and the backbone has no gradient
        learner.learn(Batch(images, np.array([0, 1, 0, 1])))
    after = module_state(learner.net.backbone)
    changed = {name.rpartition(".")[2] for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"weight", "bias"}
