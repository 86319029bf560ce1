import numpy as np
import pytest
import torch

from everlearn.learners.merge import Merge, elected_mean, signed_parts, trim
from everlearn.rng import rng_at

from .toy import FLAT, batch_of, head_of, logits_of, set_head, some_head, view_of

FIRST, SECOND, TEST = batch_of([0, 1]), batch_of([0, 1], number=1), batch_of([0] * 30, number=2)


def after_tasks(*heads: np.ndarray, **settings: object) -> Merge:
    """After tasks that ended with these heads; the gain of the network stays 1."""
    learner = Merge(**FLAT, **settings)
    for index, head in enumerate(heads):
        view = view_of(batch_of(list(range(len(head)))), index)
        learner.begin(view)
        learner.add_labels(np.arange(len(head)))
        set_head(learner, head)
        learner.end(view)
    return learner


def merged_logits(learner: Merge) -> np.ndarray:
    with torch.no_grad():
        return learner.inference_logits(learner.tensor(TEST.images)).double().numpy()


def test_ema_averages_the_weights_of_tasks() -> None:
    a, b, c = (some_head(2, number) for number in range(3))
    learner = after_tasks(a, b, c, share=0.25)
    expected = 0.75 * (0.75 * a + 0.25 * b) + 0.25 * c
    np.testing.assert_allclose(merged_logits(learner), logits_of(expected, TEST), atol=1e-5)


def test_ema_copies_new_labels_and_continues_from_the_average() -> None:
    a, b = some_head(2), some_head(3, number=1)
    learner = after_tasks(a, b, share=0.5)
    expected = np.vstack([(a + b[:2]) / 2, b[2:]])
    np.testing.assert_allclose(merged_logits(learner), logits_of(expected, TEST), atol=1e-5)
    learner.begin(view_of(FIRST, 2))
    np.testing.assert_allclose(head_of(learner), expected, atol=1e-6)


def test_task_arithmetic_adds_up_task_vectors() -> None:
    """The initial head is zero, so that the task vectors are the heads; of the gain 1 they are 0."""
    a, b, c = some_head(2), some_head(3, number=1), some_head(20, number=2)
    learner = after_tasks(a, b, c, method="task-arithmetic", factor=0.5)
    expected = 0.5 * c
    expected[:2] += 0.5 * a
    expected[:3] += 0.5 * b
    np.testing.assert_allclose(merged_logits(learner), logits_of(expected, TEST), atol=1e-5)
    learner.begin(view_of(FIRST, 3))
    assert not head_of(learner).any()


def ties(vectors: np.ndarray, kept: float) -> np.ndarray:
    """TIES-merging of all task vectors at once, as in the paper."""
    k = round(kept * vectors.shape[1])
    trimmed = np.zeros_like(vectors)
    for row, vector in zip(trimmed, vectors, strict=True):
        largest = np.argsort(-np.abs(vector))[:k]
        row[largest] = vector[largest]
    sign = np.where(trimmed.sum(0) >= 0, 1, -1)
    agrees = (np.sign(trimmed) == sign) & (trimmed != 0)
    return np.asarray((trimmed * agrees).sum(0) / np.maximum(agrees.sum(0), 1))


@pytest.mark.parametrize("kept", [1.0, 0.4])
def test_running_sums_give_the_result_of_all_task_vectors(kept: float) -> None:
    vectors = rng_at(0, "test ties").normal(5 * 40).reshape(5, 40)
    sums = torch.zeros(4, 40)
    for vector in vectors:
        parts = trim([*torch.from_numpy(vector).float().split(15)], kept)
        sums += signed_parts(torch.cat(parts))
    np.testing.assert_allclose(elected_mean(sums).numpy(), ties(vectors, kept), atol=1e-6)


def test_ties_merges_heads() -> None:
    heads = np.stack([some_head(2, number) for number in range(3)])
    learner = after_tasks(*heads, method="ties", kept=1.0)
    expected = ties(heads.reshape(3, -1), 1.0).reshape(2, 5)
    np.testing.assert_allclose(merged_logits(learner), logits_of(expected, TEST), atol=1e-5)


def test_first_task_is_predicted_by_the_network_itself() -> None:
    learner = Merge(**FLAT)
    for batch in (FIRST, SECOND):
        learner.learn(batch)
    before = learner.predict(TEST.images)
    assert len(set(before.tolist())) == 2
    learner.end(view_of(FIRST))
    np.testing.assert_array_equal(learner.predict(TEST.images), before)
    learner.begin(view_of(SECOND, 1))
    for number in range(5):
        learner.learn(batch_of([2, 3], number))
    np.testing.assert_array_equal(learner.predict(TEST.images), before)
