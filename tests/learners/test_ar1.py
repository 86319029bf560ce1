import torch

from everlearn.learners.ar1 import AR1

from .toy import FLAT, batch_of, view_of

PLAIN = {**FLAT, "momentum": 0.0, "weight_decay": 0.0, "head_rate": 0.5, "body_rate": 0.5}


def first_task(**settings: float) -> AR1:
    learner, batch = AR1(**{**PLAIN, **settings}), batch_of([0, 1, 1])
    learner.begin(view_of(batch))
    for _ in range(3):
        learner.learn(batch)
    learner.end(view_of(batch))
    return learner


def test_the_body_is_held_and_the_head_is_not() -> None:
    learner = first_task(ceiling=1e9)
    assert [held.shape for held in learner.held()] == [learner.body.gain.shape]
    assert float(learner.anchor.importances[0]) > 0
    assert torch.equal(learner.anchor.places[0], learner.body.gain.detach())


def moved(strength: float) -> float:
    learner, new = first_task(strength=strength, ceiling=1e9), batch_of([2, 3, 3], 1)
    before = learner.body.gain.item()
    learner.begin(view_of(new, 1))
    for _ in range(3):
        learner.learn(new)
    return abs(learner.body.gain.item() - before)


def test_a_held_body_moves_less_than_a_free_one() -> None:
    assert 0 < moved(strength=1.0) < 0.9 * moved(strength=0.0)


def test_nothing_comes_to_matter_more_than_the_ceiling() -> None:
    unbounded = float(first_task(ceiling=1e9).anchor.importances[0])
    assert float(first_task(ceiling=unbounded / 2).anchor.importances[0]) == unbounded / 2


def test_rows_are_merged_as_cwr_merges_them() -> None:
    learner = first_task()
    before = learner.consolidation.rows.clone()
    new = batch_of([2, 3, 3], 1)
    learner.begin(view_of(new, 1))
    learner.learn(new)
    learner.end(view_of(new, 1))
    assert torch.equal(learner.consolidation.rows[:2], before[:2])
    torch.testing.assert_close(learner.consolidation.rows.mean(1), torch.zeros(16), atol=1e-6, rtol=0)
