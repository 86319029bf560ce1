import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.learners.coda_prompt import CODAPrompt, orthogonal_rows, orthogonality_penalty
from everlearn.serialization import pack, unpack
from everlearn.streams import sprites

from .test_l2p import stripes

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)
TASK = STREAM.task(0)


@torch.enable_grad()  # type: ignore[untyped-decorator]
def trained(n_tasks: int, **settings: float) -> CODAPrompt:
    learner = CODAPrompt(image_shape=(16, 16), prompt_length=3, n_components=2, **settings)  # type: ignore[arg-type]
    for task in STREAM.take(n_tasks):
        learner.begin(task.for_learner())
        learner.learn(task.train[:8])
    return learner


@torch.no_grad()
def test_prefix_is_a_weighted_sum_of_components() -> None:
    learner, images = trained(2, n_blocks=2), TASK.train.images[:3]
    tokens, queries = learner.backbone.tokens_and_queries(images)
    p, k, a = (each.numpy() for each in (learner.pool.prompts, learner.pool.keys, learner.pool.attention))
    prefixes = np.zeros((2, 3, 2, 3, 128))
    for block in range(2):
        for image, q in enumerate(queries.numpy()):
            for m in range(4):
                attended, key = q * a[m, block], k[m, block]
                cosine = attended @ key / np.linalg.norm(attended) / np.linalg.norm(key)
                prefixes[block, image] += cosine * p[m, block]
    given = {block: torch.from_numpy(prefixes[block]).float() for block in range(2)}
    expected = learner.vit.encode(tokens, given)[:, 0]
    torch.testing.assert_close(learner.prompted(images), expected, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(learner.vit.encode(tokens)[:, 0], expected, atol=1e-4)


def test_penalty_by_hand() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 2, 5))
    expected = sum(np.square(rows[:, b] @ rows[:, b].T - np.eye(3)).mean() for b in range(2))
    assert orthogonality_penalty(torch.from_numpy(rows)).item() == pytest.approx(expected)


def test_loss_is_cross_entropy_over_the_labels_of_the_task_and_the_penalty() -> None:
    learner, batch = trained(2, orthogonality_weight=0.3), STREAM.task(1).train[:6]
    with torch.no_grad():
        logits = learner.head(learner.prompted(batch.images))[:, 3:]
        cross_entropy = functional.cross_entropy(logits, torch.from_numpy(batch.labels - 3)).item()
        parts = (learner.pool.prompts.flatten(2), learner.pool.keys, learner.pool.attention)
        penalty = sum(orthogonality_penalty(each).item() for each in parts)
    losses = learner.learn(batch)
    terms = {"cross_entropy": cross_entropy, "orthogonality": penalty}
    assert losses == pytest.approx({"loss": cross_entropy + 0.3 * penalty, **terms}, rel=1e-4)


@torch.no_grad()
def test_new_components_are_orthogonal() -> None:
    learner = trained(1)
    assert orthogonality_penalty(CODAPrompt.tiny().pool.keys) < 1e-8
    old = learner.pool.keys.clone()
    learner.begin(STREAM.task(1).for_learner())
    for rows in (learner.pool.prompts.flatten(2), learner.pool.keys, learner.pool.attention):
        new, earlier = rows[2:].transpose(0, 1), rows[:2].transpose(0, 1)  # (n_blocks, n, d)
        torch.testing.assert_close(new @ new.mT, torch.eye(2).expand(4, 2, 2), atol=1e-5, rtol=0)
        torch.testing.assert_close(new @ earlier.mT, torch.zeros(4, 2, 2), atol=1e-5, rtol=0)
    torch.testing.assert_close(learner.pool.keys[:2], old)


def test_without_dimensions_left_new_rows_are_unit_vectors() -> None:
    rows = orthogonal_rows(torch.eye(3), torch.tensor([[3.0, 4.0, 0.0]]))
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8, 0.0]]))


def test_components_of_earlier_tasks_do_not_change() -> None:
    learner = trained(1)
    before = [each.detach().clone() for each in learner.pool.parameters()]
    task = STREAM.task(1)
    learner.begin(task.for_learner())
    started = [each.detach().clone() for each in learner.pool.parameters()]
    for batch in task.train.batches(8):
        learner.learn(batch)
    for now, first, old in zip(learner.pool.parameters(), started, before, strict=True):
        torch.testing.assert_close(now[:2], old, rtol=0, atol=0)
        assert (now[2:] != first[2:]).any()
    assert all(weight.grad is None for weight in learner.vit.parameters())


def test_state_has_the_components_of_all_tasks() -> None:
    learner, other = trained(3), trained(1)
    other.load(unpack(pack(learner.state())))
    assert len(other.pool.keys) == 6
    np.testing.assert_array_equal(other.predict(TASK.test.images), learner.predict(TASK.test.images))


def test_training_without_tasks() -> None:
    learner = CODAPrompt(image_shape=(16, 16), n_components=2, learning_rate=0.01)
    assert (learner.predict(TASK.test.images) == -1).all()
    for batch in 3 * list(stripes(32, 6).batches(8)):
        losses = learner.learn(batch)
    assert losses["cross_entropy"] < 0.65
