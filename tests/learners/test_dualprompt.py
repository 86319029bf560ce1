import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.dualprompt import DualPrompt
from everlearn.serialization import pack, unpack
from everlearn.streams import sprites

from .test_l2p import stripes

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)
TASK = STREAM.task(0)
IMAGES = TASK.train.images[:2]


@torch.enable_grad()  # type: ignore[untyped-decorator]
def trained(n_tasks: int, **settings: float) -> DualPrompt:
    learner = DualPrompt(image_shape=(16, 16), general_length=2, expert_length=3, **settings)  # type: ignore[arg-type]
    for task in STREAM.take(n_tasks):
        learner.begin(task.for_learner())
        learner.learn(task.train[:8])
    return learner


def class_tokens(learner: DualPrompt, prefixes: list[torch.Tensor | None]) -> torch.Tensor:
    """The transformer with attention written out; prefixes are keys and values (2, length, d)."""
    vit = learner.vit
    x = vit.tokens(vit.preprocess(IMAGES))
    for block, prefix in zip(vit.blocks, prefixes, strict=True):
        q, k, v = block.attn.qkv(block.norm1(x)).split(128, dim=2)
        if prefix is not None:
            k, v = (torch.cat([p.expand(2, -1, -1), each], 1) for p, each in zip(prefix, (k, v), strict=True))
        heads = []
        for columns in (slice(0, 64), slice(64, 128)):
            attention = functional.softmax(q[..., columns] @ k[..., columns].mT / 8, 2)
            heads.append(attention @ v[..., columns])
        x = x + block.attn.proj(torch.cat(heads, 2))
        x = x + block.mlp(block.norm2(x))
    return vit.norm(x)[:, 0]


@torch.no_grad()
def test_prefixes_are_put_before_keys_and_values() -> None:
    learner = trained(2)
    learner.pool.keys.copy_(learner.backbone.tokens_and_queries(IMAGES)[1])
    general, experts = learner.pool.general, learner.pool.experts
    for image in range(2):  # the key of task i is the query of image i
        expected = class_tokens(learner, [*general, *experts[image]])[image]
        torch.testing.assert_close(learner.prompted(IMAGES)[image], expected, atol=1e-5, rtol=1e-4)
    expected = class_tokens(learner, [*general, *experts[1]])
    everyone = experts[1:].expand(2, -1, -1, -1, -1)
    tokens = learner.backbone.tokens_and_queries(IMAGES)[0]
    torch.testing.assert_close(learner.class_tokens(tokens, everyone), expected, atol=1e-5, rtol=1e-4)


def test_prefixes_are_in_the_first_and_the_next_blocks() -> None:
    learner = trained(1, n_general_blocks=1, n_expert_blocks=2)
    seen = []
    for block in learner.vit.blocks:
        block.register_forward_hook(lambda block, inputs, output: seen.append(inputs[1]))
    learner.learn(TASK.train[:4])
    assert [None if each is None else each.shape[2] for each in seen] == [None] * 4 + [2, 3, 3, None]


def test_loss_is_cross_entropy_over_the_labels_of_the_task_minus_the_pull() -> None:
    learner, batch = trained(2, pull_weight=0.5), STREAM.task(1).train[:6]
    with torch.no_grad():
        tokens, queries = learner.backbone.tokens_and_queries(batch.images)
        key = learner.pool.keys[1]
        similarity = torch.cosine_similarity(queries, key[None]).mean().item()
        features = learner.class_tokens(tokens, learner.pool.experts[1:].expand(6, -1, -1, -1, -1))
        logits = learner.head(features)[:, 3:]
        cross_entropy = functional.cross_entropy(logits, torch.from_numpy(batch.labels - 3)).item()
    losses = learner.learn(batch)
    expected = {"cross_entropy": cross_entropy, "similarity": similarity}
    assert losses == pytest.approx({"loss": cross_entropy - 0.5 * similarity, **expected}, rel=1e-4)


def test_prefixes_and_keys_of_earlier_tasks_do_not_change() -> None:
    learner = trained(1)
    before = {name: each.detach().clone() for name, each in learner.pool.named_parameters()}
    task = STREAM.task(1)
    learner.begin(task.for_learner())
    torch.testing.assert_close(learner.pool.experts[1], before["experts"][0])  # they start as copies
    for batch in task.train.batches(8):
        learner.learn(batch)
    torch.testing.assert_close(learner.pool.experts[0], before["experts"][0], rtol=0, atol=0)
    torch.testing.assert_close(learner.pool.keys[0], before["keys"][0], rtol=0, atol=0)
    assert (learner.pool.experts[1] != before["experts"][0]).any()
    assert (learner.pool.general != before["general"]).any()
    assert all(weight.grad is None for weight in learner.vit.parameters())


def test_state_has_the_prefixes_of_all_tasks() -> None:
    learner, other = trained(3), trained(1)
    other.load(unpack(pack(learner.state())))
    assert other.pool.experts.shape == (3, 2, 2, 3, 128)
    np.testing.assert_array_equal(other.predict(TASK.test.images), learner.predict(TASK.test.images))


def test_training_without_tasks() -> None:
    learner = DualPrompt.tiny()
    assert (learner.predict(IMAGES) == -1).all()
    for batch in 3 * list(stripes(32, 6).batches(8)):
        losses = learner.learn(batch)
    assert losses["cross_entropy"] < 0.6


def test_no_more_general_blocks_than_there_are() -> None:
    with pytest.raises(BadInput, match="n_general_blocks is 4; it must be between 0 and 3"):
        DualPrompt(n_general_blocks=4)
