from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.l2p import L2P
from everlearn.networks import module_state, n_bytes, seeded
from everlearn.networks.pretraining import pretrain
from everlearn.networks.vit import ViT
from everlearn.networks.weights import save_weights
from everlearn.serialization import digest, pack
from everlearn.streams import Batch, sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)
TASK = STREAM.task(0)


def stripes(n: int, first: int) -> Batch:
    """Images with an upright (odd labels) or a lying stripe, at four places from the first on."""
    images, labels = np.zeros((n, 16, 16), np.uint8), np.arange(n) % 2
    for row, label in enumerate(labels):
        place = slice(first + row % 4, first + row % 4 + 3)
        images[row][(slice(None), place) if label else place] = 255
    return Batch(images, labels)


def started(**settings: float) -> L2P:
    learner = L2P(image_shape=(16, 16), n_prompts=4, prompt_length=2, n_selected=2, **settings)  # type: ignore[arg-type]
    learner.begin(TASK.for_learner())
    return learner


def test_prompts_with_the_most_similar_keys_are_selected() -> None:
    """Keys along the axes: a query leaning to axis 3, then 1, gets these two, in this order."""
    learner = started()
    with torch.no_grad():
        learner.pool.keys.zero_()
        learner.pool.keys[range(4), range(4)] = torch.tensor([1.0, 5.0, 0.1, 0.01])
    query = torch.zeros(1, 128)
    query[0, 3], query[0, 1] = 4.0, 3.0
    prompts, similarity = learner.pool(query, 2)
    torch.testing.assert_close(prompts, learner.pool.prompts[[3, 1]].reshape(1, 4, 128))
    assert similarity.item() == pytest.approx(4 / 5 + 3 / 5)  # cosines: the length of a key does not matter


def test_loss_is_cross_entropy_over_the_labels_of_the_task_minus_the_pull() -> None:
    learner = started(pull_weight=0.5)
    learner.head.add_labels([77])
    with torch.no_grad():
        learner.head.bias[learner.head.labels.index(77)] = 100.0  # another task's label must not matter
    batch = TASK.train[:6]
    with torch.no_grad():
        features, similarity = learner.features_and_similarity(batch.images)
        logits = functional.linear(features, learner.head.weight[:3], learner.head.bias[:3])
    losses = learner.learn(batch)
    expected = functional.cross_entropy(logits, torch.from_numpy(batch.labels))
    assert (
        losses["cross_entropy"]
        == pytest.approx(expected.item(), rel=1e-5)
        == pytest.approx(np.log(3), rel=1e-5)
    )
    assert losses["similarity"] == pytest.approx(similarity.mean().item(), rel=1e-5)
    assert losses["loss"] == pytest.approx(losses["cross_entropy"] - 0.5 * losses["similarity"])


def test_features_are_the_mean_output_of_the_prompts() -> None:
    learner = started()
    with torch.no_grad():
        images = learner.vit.preprocess(TASK.train.images[:2])
        query = learner.vit(images)
        prompts, _ = learner.pool(query, 2)
        tokens = torch.cat([prompts, learner.vit.tokens(images)], dim=1)
        expected = learner.vit.norm(learner.vit.blocks(tokens))[:, :4].mean(1)
        torch.testing.assert_close(learner.prompted(TASK.train.images[:2]), expected)


def test_only_prompts_keys_and_head_are_trained() -> None:
    learner = started()
    before, vit = learner.state(), module_state(learner.vit)
    for batch in TASK.train.batches(8):
        learner.learn(batch)
    after = learner.state()
    assert digest(module_state(learner.vit)) == digest(vit) == after["backbone"]["digest"]
    for part, name in (("pool", "prompts"), ("pool", "keys"), ("head", "weight")):
        assert (after[part][name] != before[part][name]).any()
    assert all(weight.grad is None for weight in learner.vit.parameters())


def test_head_of_earlier_tasks_does_not_change() -> None:
    learner = started()
    for batch in TASK.train.batches(8):
        learner.learn(batch)
    old = learner.head.weight[:3].detach().clone()
    view = STREAM.task(1).for_learner()
    learner.begin(view)
    for batch in view.train.batches(8):
        learner.learn(batch)
    torch.testing.assert_close(learner.head.weight[:3], old, rtol=0, atol=0)
    assert set(learner.predict(TASK.test.images).tolist()) <= set(range(6))


def test_training_on_a_pretrained_transformer(tmp_path: Path) -> None:
    """A network that was taught stripes can be prompted to tell other stripes apart."""
    save_weights(
        pretrain(stripes(64, 0), epochs=4, batch_size=16, image_size=16), tmp_path / "net.safetensors"
    )
    learner = L2P(image_shape=(16, 16), weights=str(tmp_path / "net.safetensors"), n_prompts=4, n_selected=2)
    training = stripes(32, 6)
    assert (learner.predict(training.images) == -1).all()
    for batch in 5 * list(training.batches(8)):
        learner.learn(batch)
    assert np.mean(learner.predict(stripes(40, 6).images) == stripes(40, 6).labels) > 0.9


def test_weights_from_a_file(tmp_path: Path) -> None:
    with seeded(5):
        net = ViT(image_size=16, n_channels=3, depth=1, n_classes=7)
    save_weights(net, tmp_path / "net.safetensors")
    learner = L2P(image_shape=(16, 16), weights=str(tmp_path / "net.safetensors"))
    images = TASK.test.images
    with torch.no_grad():
        torch.testing.assert_close(learner.vit(learner.vit.preprocess(images)), net(net.preprocess(images)))
    assert "head.weight" not in learner.vit.state_dict()
    with pytest.raises(BadInput, match="there are no weights"):
        L2P(weights=str(tmp_path / "missing.safetensors"))


def test_state_excludes_the_frozen_transformer() -> None:
    learner = started()
    learner.learn(TASK.train[:8])
    assert len(pack(learner.state())) < n_bytes(learner.vit) / 10
    assert learner.footprint().weights > n_bytes(learner.vit)


def test_load_refuses_prompts_of_another_transformer(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    for seed in (1, 2):
        with seeded(seed):
            save_weights(ViT(image_size=16, depth=1), path)
        learner = L2P(image_shape=(16, 16), weights=str(path))
        if seed == 1:
            state = learner.state()
            L2P(image_shape=(16, 16), weights=str(path)).load(state)
    before = digest(learner.state())
    with pytest.raises(
        BadInput, match=r"net.safetensors\) have digest \w{12}, but .* trained with \w{12}; give"
    ):
        learner.load(state)
    assert digest(learner.state()) == before


def test_no_more_prompts_are_selected_than_there_are() -> None:
    with pytest.raises(BadInput, match="n_selected is 11; it must be between 1 and 10"):
        L2P(n_selected=11)
