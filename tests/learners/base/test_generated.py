"""A generator on patterns so simple that what it should make is known."""

import numpy as np
import pytest
import torch

from everlearn.learners.old_base.generated import Eyes, GeneratedPatterns, Practice
from everlearn.learners.old_base.patterns import Patterns, stored
from everlearn.networks.generator import Generator

PLACES = torch.tensor([[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])
"""What patterns of each class are scattered about."""


def cloud(column: int, n: int = 200) -> Patterns:
    noise = 0.2 * torch.randn(n, 4, generator=torch.Generator().manual_seed(column))
    return Patterns((PLACES[column] + noise).relu(), torch.full((n,), column))


def dreaming(seed: int = 0, **practice: float) -> GeneratedPatterns:
    defaults = {
        "rate": 1e-2,
        "epochs": 30,
        "batch": 128,
        "replay": 64,
        "beta": 2.0,
        "eta": 0.01,
        "wear": 0.0,
    }
    return GeneratedPatterns(
        generator=Generator(n_features=4, shape=(4,), width=32, code_size=3, seed=seed),
        eyes=Eyes(lambda patterns: patterns, lambda features: features @ PLACES.T, 0.0),
        practice=Practice(**{**defaults, **practice}),  # type: ignore[arg-type]
        memory_size=120,
        seed=seed,
    )


def distance(past: GeneratedPatterns, column: int) -> float:
    """Of what is dreamed of a class, from where it should be."""
    made = past.memory.of(column).extra["patterns"]
    return float(torch.from_numpy(made).mean(0).sub(PLACES[column]).norm())


def test_it_learns_to_make_what_it_saw_and_keeps_it() -> None:
    past = dreaming()
    for task in range(3):
        past.refill(range(task), task)
        past.study(cloud(task), task)
    past.refill(range(3), 3)
    assert set(past.counts()) == {0, 1, 2}
    assert max(distance(past, column) for column in range(3)) < 1.0


def test_with_the_papers_settings_dreams_stay_true_to_their_classes_over_many_tasks() -> None:
    """Forty classes in ten tasks; patterns and their features are as wide as in a network."""
    centres = 3 * torch.rand(40, 256, generator=torch.Generator().manual_seed(0))
    near = lambda patterns: -torch.cdist(patterns, centres)  # noqa: E731  (the classifier)
    past = GeneratedPatterns(
        generator=Generator(n_features=256, shape=(256,), code_size=32),
        eyes=Eyes(lambda patterns: patterns, near, 0.0),
        practice=Practice(rate=2e-3, epochs=4, batch=128, replay=27, beta=0.1, eta=0.01, wear=0.0),
        memory_size=500,
        seed=0,
    )
    for task in range(10):
        past.refill(range(4 * task), task)
        columns = torch.arange(4 * task, 4 * task + 4).repeat(100)
        noise = torch.randn(400, 256, generator=torch.Generator().manual_seed(task))
        past.study(Patterns((centres[columns] + noise).relu(), columns), task)
    past.refill(range(40), 10)
    made = stored(past.memory.everything())
    assert (near(made.values).argmax(1) == made.columns).float().mean() > 0.9


def test_without_its_own_patterns_it_forgets() -> None:
    past = dreaming(replay=0)
    for task in range(3):
        past.refill(range(task), task)
        past.study(cloud(task), task)
    past.refill(range(3), 3)
    assert distance(past, 0) > 1.0


def test_labels_are_balanced_whatever_the_counts_were() -> None:
    past = dreaming(epochs=1)
    past.study(cloud(0, n=300), 0)
    past.study(cloud(1, n=3), 1)
    past.refill([0, 1], 2)
    assert min(past.counts().values()) > 40


def test_the_memory_is_filled_once_a_task_and_never_below_zero() -> None:
    past = dreaming(epochs=1)
    past.study(cloud(0), 0)
    past.refill([0], 1)
    first = past.memory.everything().extra["patterns"]
    assert len(first) == 120
    assert first.min() >= 0
    past.refill([0], 1)
    assert (first == past.memory.everything().extra["patterns"]).all(), "the same task, the same dreams"
    past.refill([0], 2)
    assert not (first == past.memory.everything().extra["patterns"]).all()


def test_wear_takes_the_class_out_of_patterns_and_leaves_each_unit_as_strong_as_it_was() -> None:
    whole, worn = dreaming(), dreaming(wear=1.0)
    for past in (whole, worn):
        past.study(Patterns(*(torch.cat(both) for both in zip(cloud(0), cloud(1), strict=True))), 0)
        past.refill([0, 1], 1)
    made = [past.memory.everything().extra["patterns"] for past in (whole, worn)]
    assert np.abs(made[0].mean(0) - made[1].mean(0)).max() < 0.8
    assert np.abs(np.quantile(made[0], 0.9, axis=0) - np.quantile(made[1], 0.9, axis=0)).max() < 0.8
    assert distance(whole, 0) < 1.0
    assert distance(worn, 0) > 2.0


def test_half_worn_patterns_keep_half_of_their_activations() -> None:
    kept = {}
    for wear in (0.0, 0.5):
        past = dreaming(wear=wear)
        past.study(cloud(0), 0)
        past.refill([0], 1)
        kept[wear] = past.memory.everything().extra["patterns"]
    assert 0.4 < (kept[0.0] == kept[0.5]).mean() < 0.7


def test_the_classifier_s_loss_reaches_the_generator() -> None:
    """Patterns under the wrong label: the more eta weighs, the more dreams are what the label says."""
    told = {}
    for eta in (0.0, 100.0):
        past = dreaming(eta=eta)
        past.study(Patterns(cloud(0).values, torch.full((200,), 1)), 0)
        past.refill([1], 1)
        made = torch.from_numpy(past.memory.everything().extra["patterns"])
        told[eta] = float((made @ PLACES.T).softmax(1)[:, 1].mean())
    assert told[100.0] > told[0.0] + 0.5


def test_later_tasks_are_studied_more_slowly() -> None:
    past = dreaming(epochs=1, slowing=0.9)
    rates = []
    for task in (0, 20):
        past.study(cloud(0), task)
        rates.append(past.optimiser.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(1e-2, rel=1e-3)
    assert rates[1] == pytest.approx(1e-3, rel=1e-3)


def test_more_classes_than_there_was_room_for() -> None:
    past = dreaming(epochs=1)
    past.study(cloud(0), 0)
    wide = Patterns(torch.ones(40, 4), torch.arange(40))
    past.eyes = past.eyes._replace(outputs=lambda features: features @ torch.ones(4, 40))
    past.study(wide, 1)
    assert past.generator.classes.shape[0] == 64
    assert past.optimiser.state[past.generator.classes]["exp_avg"].shape[0] == 64
