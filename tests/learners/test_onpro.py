import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.learners.onpro import OnPro, class_members, near_pairs
from everlearn.learners.scr import supervised_contrastive
from everlearn.rng import rng_at
from everlearn.streams import sprites

from .toy import FLAT, batch_of

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)


def unit(*shape: int) -> torch.Tensor:
    return functional.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(0)), dim=-1)


def test_prototypes_are_compared_with_those_of_the_other_view() -> None:
    learner, z, batch = OnPro(**FLAT, prototype_temperature=0.4), unit(2, 6, 5), batch_of([4, 7, 4, 9, 9, 4])
    labels = batch.labels.tolist()
    vectors = []
    for view in z.double().numpy():
        for label in (4, 7, 9):
            mean = np.mean([view[i] for i in range(6) if labels[i] == label], axis=0)
            vectors.append(mean / np.linalg.norm(mean))
    power = np.exp(np.array(vectors) @ np.array(vectors).T / 0.4)
    losses = [-np.log(power[i, (i + 3) % 6] / (power[i].sum() - power[i, i])) for i in range(6)]
    found = learner.contrasts(z, torch.from_numpy(batch.labels), class_members(batch, z))
    assert found["prototypes"].item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_batch_of_one_class_has_no_prototype_loss() -> None:
    learner, z, batch = OnPro(**FLAT), unit(2, 3, 5), batch_of([1, 1, 1])
    found = learner.contrasts(z, torch.from_numpy(batch.labels), class_members(batch, z))
    assert found["prototypes"].item() == pytest.approx(0, abs=1e-6)


def test_near_classes_are_mixed_more_often() -> None:
    """Classes 0 and 1 are at 0.5, class 2 at 2 and at 1.5: exp(2), exp(1/2) and exp(2/3) are the odds."""
    prototypes, rows = torch.tensor([[0.0], [0.5], [2.0]]), torch.tensor([0, 1, 2] * 5)
    one, other = near_pairs(prototypes, rows, 3000, rng_at(0, "test onpro"))
    counts = np.zeros((3, 3))
    np.add.at(counts, (rows[one].numpy(), rows[other].numpy()), 1)
    odds = np.exp([1 / 0.5, 1 / 2, 1 / 1.5])
    np.testing.assert_allclose([counts[0, 1], counts[0, 2], counts[1, 2]], 3000 * odds / odds.sum(), atol=80)
    assert counts.sum() == counts[np.triu_indices(3, 1)].sum()
    assert len(np.unique(one)) == 10  # all images of classes 0 and 1


def test_loss_of_mixed_images_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = OnPro(**FLAT, near_share=0.0, min_crop=1.0)
    learner.add_labels(np.array([0, 1]))
    images = learner.tensor(batch_of([0, 1, 1]).images)
    monkeypatch.setattr(learner, "logits", lambda mixed: mixed.flatten(1)[:, :2])
    rng = rng_at(0, "onpro mixtures", 0)
    other, numbers = rng.permutation(3), rng.uniform(6).reshape(2, 3)
    share = np.where(numbers[0] < 0.6, 0.6 * numbers[1], 0)
    x, labels = images.flatten(1)[:, :2].double().numpy(), np.array([0, 1, 1])
    logits = (1 - share[:, None]) * x + share[:, None] * x[other]
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = -((1 - share) * log_p[range(3), labels] + share * log_p[range(3), labels[other]]).mean()
    loss = learner.mixed_loss(images, torch.from_numpy(labels), unit(2, 3, 4), torch.eye(2)[[0, 1, 1]].T)
    assert share.max() > 0
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_losses_of_new_and_replayed_images_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, task = OnPro.tiny(), STREAM.task(0)
    learner.learn(task.train[:16])
    learner.end(task.for_learner())
    seen = []
    monkeypatch.setattr(learner, "contrasts", lambda z, *rest: seen.append((z, *rest)) or {
        "instances": supervised_contrastive(z.flatten(0, 1), rest[0].repeat(2), 0.07)
    })  # fmt: skip
    losses = learner.learn(STREAM.task(1).train[:8])
    parts = [
        supervised_contrastive(z.flatten(0, 1), targets.repeat(2), 0.07).item() for z, targets, _ in seen
    ]
    assert [z.shape[1] for z, *_ in seen] == [8, 16]
    assert losses["instances"] == pytest.approx(sum(parts), rel=1e-5)
    assert losses["loss"] == pytest.approx(losses["instances"] + losses["cross_entropy"], rel=1e-5)


def test_new_images_have_no_cross_entropy_after_the_first_task(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, task = OnPro.tiny(), STREAM.task(0)
    learner.learn(task.train[:16])
    learner.end(task.for_learner())
    seen = []
    monkeypatch.setattr(
        learner, "mixed_loss", lambda _, targets, *__: seen.append(targets) or torch.zeros(())
    )
    assert learner.learn(STREAM.task(1).train[:8])["cross_entropy"] == 0
    assert set(seen[0].tolist()) <= {0, 1, 2}
