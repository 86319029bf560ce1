import numpy as np
import pytest
import torch

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.learners.base.classifier import Classifier
from everlearn.learners.naive import Naive
from everlearn.networks import module_state
from tests.learners.toy import FLAT, batch_of, cross_entropy, head_of, set_head, slopes, some_head


def test_a_step_of_sgd_goes_down_the_slope_of_cross_entropy() -> None:
    learner, batch = Naive(**FLAT), batch_of([5, 7, 5])
    learner.admit(batch.labels)
    before = some_head(2)
    set_head(learner, before)
    assert learner.learn(batch)["loss"] == pytest.approx(cross_entropy(before, batch, [0, 1, 0]), rel=1e-6)
    expected = before - 0.5 * slopes(before, batch, [0, 1, 0]).mean(0)
    np.testing.assert_allclose(head_of(learner), expected, atol=1e-6)


def test_momentum_carries_the_last_change_on() -> None:
    learner, batch = Naive(**FLAT, momentum=0.5), batch_of([5, 7, 5])
    learner.admit(batch.labels)
    set_head(learner, some_head(2))
    states = [head_of(learner)]
    for _ in range(2):
        with torch.no_grad():
            learner.body.gain.fill_(1.0)  # type: ignore[operator, union-attr]
        learner.learn(batch)
        states.append(head_of(learner))
    first = states[1] - states[0]
    expected = 0.5 * first - 0.5 * slopes(states[1], batch, [0, 1, 0]).mean(0)
    np.testing.assert_allclose(states[2] - states[1], expected, atol=1e-6)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_a_head_that_grows_changes_nothing_for_old_labels(optimiser: str) -> None:
    momentum = 0.9 if optimiser == "sgd" else 0.0
    batch, settings = batch_of([0, 1]), {**FLAT, "optimiser": optimiser, "momentum": momentum}

    def go(grow: bool) -> np.ndarray:
        learner = Naive(**settings)
        learner.learn(batch)
        if grow:
            learner.head._reserve(100)
            learner.optimiser = _regrown(learner)
        learner.learn(batch)
        return head_of(learner)

    np.testing.assert_array_equal(go(grow=True), go(grow=False))


def _regrown(learner: Classifier) -> torch.optim.Optimizer:
    from everlearn.learners.base.classifier import padded_to
    from everlearn.networks import load_optimiser, optimiser_state

    old = optimiser_state(learner.optimiser)
    fresh = learner._fresh_optimiser()
    load_optimiser(fresh, padded_to(old, learner.weights()))
    return fresh


def test_beginning_anew_is_as_good_as_new() -> None:
    learner = Naive(image_shape=(16, 16), seed=4)
    first = module_state(learner.body)
    for weight in learner.weights():
        weight.detach().add_(1.0)
    learner.admit(np.array([1, 2]))
    learner.restart()
    assert learner.head.labels == []
    assert all((first[name] == array).all() for name, array in module_state(learner.body).items())


def test_work_is_counted_forward_and_back() -> None:
    learner = Naive(image_shape=(2, 2), backbone="mlp")
    learner.learn(batch_of([0, 1, 1]))
    forward = 2 * (4 * 400 + 400 * 400)
    assert learner.flops == 3 * 3 * forward


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"optimiser": "adma"}, "did you mean 'adam'"),
        ({"momentum": 0.9}, "adam has its own"),
        ({"optimiser": "sgd", "momentum": 1.5}, "momentum is 1.5"),
        ({"backbone": "smal"}, "did you mean 'small'"),
        ({"learning_rate": 0}, "learning_rate is 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], word: str) -> None:
    with pytest.raises(BadInput, match=word):
        Naive(**settings)  # type: ignore[arg-type]


def test_names_and_files_agree() -> None:
    assert {"a-gem", "der++", "cumulative-budget"} <= set(learners.names())
    assert learners.learner_class("der++").__name__ == "DERPlusPlus"


def test_settings_passed_on_are_settings_too() -> None:
    fields = learners.settings_class("der++").model_fields
    own = ["alpha", "beta", "memory_size", "replay_size"]
    assert list(fields) == [*own, "backbone", "optimiser", "learning_rate", "momentum"]
    assert fields["alpha"].description == "how much the old outputs weigh."
    assert fields["optimiser"].description == '"adam" or "sgd".'


@pytest.mark.parametrize("name", learners.names())
def test_every_setting_has_a_default_and_a_sentence(name: str) -> None:
    for key, field in learners.settings_class(name).model_fields.items():
        assert not field.is_required(), key
        assert field.description, key
