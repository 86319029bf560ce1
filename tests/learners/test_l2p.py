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
from everlearn.networks.weights import save
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


def begun(**settings: float) -> L2P:
    learner = L2P(image_shape=(16, 16), n_prompts=4, prompt_length=2, chosen=2, **settings)  # type: ignore[arg-type]
    learner.begin(TASK.for_learner())
    return learner


def test_the_prompts_with_the_most_similar_keys_are_chosen() -> None:
    """Keys along the axes: a query leaning to axis 3, then 1, gets these two, in this order."""
    learner = begun()
    with torch.no_grad():
        learner.pool.keys.zero_()
        learner.pool.keys[range(4), range(4)] = torch.tensor([1.0, 5.0, 0.1, 0.01])
    query = torch.zeros(1, 128)
    query[0, 3], query[0, 1] = 4.0, 3.0
    prompts, similarity = learner.pool(query, 2)
    torch.testing.assert_close(prompts, learner.pool.prompts[[3, 1]].reshape(1, 4, 128))
    assert similarity.item() == pytest.approx(4 / 5 + 3 / 5)  # cosines: the length of a key does not matter


def test_the_loss_is_entropy_among_the_task_s_labels_less_the_pull() -> None:
    learner = begun(pull=0.5)
    learner.head.add_labels([77])
    with torch.no_grad():
        learner.head.bias[learner.head.labels.index(77)] = 100.0  # another task's label must not matter
    batch = TASK.train[:6]
    with torch.no_grad():
        features, similarity = learner._prompted(batch.images)
        outputs = functional.linear(features, learner.head.weight[:3], learner.head.bias[:3])
    losses = learner.learn(batch)
    expected = functional.cross_entropy(outputs, torch.from_numpy(batch.labels))
    assert losses["entropy"] == pytest.approx(expected.item(), rel=1e-5) == pytest.approx(np.log(3), rel=1e-5)
    assert losses["similarity"] == pytest.approx(similarity.mean().item(), rel=1e-5)
    assert losses["loss"] == pytest.approx(losses["entropy"] - 0.5 * losses["similarity"])


def test_features_are_the_mean_of_what_the_prompts_become() -> None:
    learner = begun()
    with torch.no_grad():
        seen = learner.body.seen(TASK.train.images[:2])
        query = learner.body(seen)
        prompts, _ = learner.pool(query, 2)
        tokens = torch.cat([prompts, learner.body.tokens(seen)], dim=1)
        expected = learner.body.norm(learner.body.blocks(tokens))[:, :4].mean(1)
        torch.testing.assert_close(learner._prompted(TASK.train.images[:2])[0], expected)


def test_only_prompts_keys_and_head_are_learned() -> None:
    learner = begun()
    before, body = learner.state(), module_state(learner.body)
    for batch in TASK.train.batches(8):
        learner.learn(batch)
    after = learner.state()
    assert digest(module_state(learner.body)) == digest(body) == after["body_digest"]
    for part, name in (("pool", "prompts"), ("pool", "keys"), ("head", "weight")):
        assert (after[part][name] != before[part][name]).any()
    assert all(weight.grad is None for weight in learner.body.parameters())


def test_labels_of_earlier_tasks_are_left_alone() -> None:
    learner = begun()
    for batch in TASK.train.batches(8):
        learner.learn(batch)
    old = learner.head.weight[:3].detach().clone()
    view = STREAM.task(1).for_learner()
    learner.begin(view)
    for batch in view.train.batches(8):
        learner.learn(batch)
    torch.testing.assert_close(learner.head.weight[:3], old, rtol=0, atol=0)
    assert set(learner.predict(TASK.test.images).tolist()) <= set(range(6))


def test_it_learns_what_the_network_can_see(tmp_path: Path) -> None:
    """A network that was taught stripes can be prompted to tell other stripes apart."""
    save(pretrain(stripes(64, 0), epochs=4, batch_size=16, image_size=16), tmp_path / "net.safetensors")
    learner = L2P(image_shape=(16, 16), weights=str(tmp_path / "net.safetensors"), n_prompts=4, chosen=2)
    lesson = stripes(32, 6)
    assert (learner.predict(lesson.images) == -1).all()
    for batch in 5 * list(lesson.batches(8)):
        learner.learn(batch)
    assert np.mean(learner.predict(stripes(40, 6).images) == stripes(40, 6).labels) > 0.9


def test_weights_come_from_a_file(tmp_path: Path) -> None:
    with seeded(5):
        net = ViT(image_size=16, n_channels=3, depth=1, n_classes=7)
    save(net, tmp_path / "net.safetensors")
    learner = L2P(image_shape=(16, 16), weights=str(tmp_path / "net.safetensors"))
    images = TASK.test.images
    with torch.no_grad():
        torch.testing.assert_close(learner.body(learner.body.seen(images)), net(net.seen(images)))
    assert "head.weight" not in learner.body.state_dict()
    with pytest.raises(BadInput, match="there are no weights"):
        L2P(weights=str(tmp_path / "missing.safetensors"))


def test_the_frozen_transformer_is_not_saved() -> None:
    learner = begun()
    learner.learn(TASK.train[:8])
    assert len(pack(learner.state())) < n_bytes(learner.body) / 10
    assert learner.footprint().weights > n_bytes(learner.body)


def test_prompts_learned_with_another_transformer_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    for seed in (1, 2):
        with seeded(seed):
            save(ViT(image_size=16, depth=1), path)
        learner = L2P(image_shape=(16, 16), weights=str(path))
        if seed == 1:
            state = learner.state()
            L2P(image_shape=(16, 16), weights=str(path)).load(state)
    before = digest(learner.state())
    with pytest.raises(
        BadInput, match=r"net.safetensors\) have digest \w{12}, but .* learned with \w{12}; give"
    ):
        learner.load(state)
    with pytest.raises(BadInput, match="learned with unknown; give the weights"):
        learner.load({name: value for name, value in state.items() if name != "body_digest"})
    assert digest(learner.state()) == before


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="chosen is 11; it must be between 1 and 10"):
        L2P(chosen=11)
    with pytest.raises(BadInput, match="prompt_length"):
        L2P(prompt_length=0)
