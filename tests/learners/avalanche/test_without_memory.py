"""Methods that keep no images: naive, LwF, EWC, SI."""

import numpy as np
import pytest
import torch

from everlearn.learners.ewc import EWC
from everlearn.learners.lwf import LwF
from everlearn.learners.naive import Naive
from everlearn.learners.si import SI

from .peer import TASKS, agree, settings, their_settings, train_ours, train_theirs

pytestmark = [  # Avalanche's
    pytest.mark.filterwarnings("ignore:No loggers specified"),
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept"),
]


@pytest.mark.parametrize("backbone", ["mlp", "small"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_naive(avalanche, backbone: str, momentum: float) -> None:
    from avalanche.training import Naive as Theirs

    learner = Naive(**settings(backbone=backbone, momentum=momentum))
    agree_on = their_settings(learner, momentum=momentum)
    tasks = TASKS[:1] if backbone == "small" else TASKS
    agree(train_ours(learner, tasks), train_theirs(Theirs(**agree_on), tasks))


def test_lwf(avalanche) -> None:
    """Both distil the labels known before the task only, as KL divergence without the factor T^2."""
    from avalanche.training import LwF as Theirs

    learner = LwF(**settings(alpha=1.5, temperature=2.0))
    strategy = Theirs(alpha=1.5, temperature=2.0, **their_settings(learner))
    agree(train_ours(learner), train_theirs(strategy))


def test_lwf_teacher_uses_running_statistics_of_batch_norm(avalanche) -> None:
    """The teacher of Avalanche stays in training mode: it normalizes by the new batch and updates statistics.

    The soft targets should be those of the original network, which depend on the image alone. So losses
    differ from the second task on.
    """
    from avalanche.training import LwF as Theirs

    learner = LwF(**settings(backbone="small"))
    strategy = Theirs(alpha=1.0, temperature=2.0, **their_settings(learner))
    ours, theirs = train_ours(learner, TASKS[:2]), train_theirs(strategy, TASKS[:2])
    n_first = len(ours.losses) // 2
    np.testing.assert_allclose(ours.losses[:n_first], theirs.losses[:n_first], rtol=1e-3)
    assert not np.allclose(ours.losses[n_first + 1 :], theirs.losses[n_first + 1 :], rtol=1e-3)
    assert strategy.plugins[0].lwf.prev_model.training


def test_ewc_with_gradients_of_single_images(avalanche) -> None:
    from avalanche.training import Naive as Theirs
    from avalanche.training.plugins import EWCPlugin

    class PerImage(EWCPlugin):
        def compute_importances(self, model, criterion, optimizer, dataset, device, batch_size, **_):
            return super().compute_importances(model, criterion, optimizer, dataset, device, 1)

    learner = EWC(**settings(strength=5.0, decay=0.8, n_fisher_images=10_000))
    plugin = PerImage(5.0, mode="online", decay_factor=0.8)
    strategy = Theirs(plugins=[plugin], **their_settings(learner))
    agree(train_ours(learner), train_theirs(strategy))
    theirs = [importance.data for importance in plugin.importances[2].values()]
    for ours, other in zip(learner.penalty.importance, theirs, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-3, atol=1e-7)


def test_ewc_of_avalanche_is_smaller_the_larger_its_batches(avalanche) -> None:
    """Avalanche squares mean gradients of batches; the Fisher information is the mean of squares.

    Gradients of different images cancel in a mean, so Avalanche's importances shrink with the size of its
    batches, and its lambda means another thing for each of them.
    """
    from avalanche.training import Naive as Theirs
    from avalanche.training.plugins import EWCPlugin

    learner = EWC(**settings(n_fisher_images=10_000))
    plugin = EWCPlugin(0.0, mode="online", decay_factor=1.0)
    train_theirs(Theirs(plugins=[plugin], **their_settings(learner)), TASKS[:1])
    train_ours(learner, TASKS[:1])
    ours = float(sum(importance.sum() for importance in learner.penalty.importance))
    theirs = float(sum(importance.data.sum() for importance in plugin.importances[0].values()))
    assert 1.5 < ours / theirs < 8.5


def their_worths(plugin) -> torch.Tensor:
    """Avalanche keeps the negative of the paper's sum."""
    return torch.cat([-importance.data for importance in plugin.syn_data["cum_trajectory"].values()])


def our_worths(learner: SI) -> torch.Tensor:
    return torch.cat([importance.flatten() for importance in learner.penalty.importance])


def si_of_avalanche(learner: SI):
    """Avalanche has lambda / 2 where the paper has c, so it is given twice as much."""
    from avalanche.training import Naive as Theirs
    from avalanche.training.plugins import SynapticIntelligencePlugin

    plugin = SynapticIntelligencePlugin(si_lambda=2 * learner.strength, eps=learner.damping)
    return plugin, Theirs(plugins=[plugin], **their_settings(learner))


@pytest.fixture
def copying(avalanche, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mend Avalanche: weights written down as the old ones must not move with the new ones."""
    from avalanche.training.plugins import SynapticIntelligencePlugin

    def extract(model, target, excluded):
        for name, weight in SynapticIntelligencePlugin.allowed_parameters(model, excluded):
            target[name].data = weight.detach().clone().flatten()

    monkeypatch.setattr(SynapticIntelligencePlugin, "extract_weights", staticmethod(extract))


def test_si_of_avalanche_does_nothing_on_a_cpu(avalanche) -> None:
    """It writes down views of the weights, not copies: they never seem to change, and nothing matters."""
    learner = SI(**settings())
    plugin, strategy = si_of_avalanche(learner)
    train_theirs(strategy, TASKS[:2])
    assert not their_worths(plugin).any()
    train_ours(learner, TASKS[:2])
    assert our_worths(learner).any()


def test_si(copying) -> None:
    """With damping so large that Avalanche's limit of 0.001 on importances is not reached, both agree."""
    learner = SI(**settings(strength=2500.0, damping=100.0))
    plugin, strategy = si_of_avalanche(learner)
    theirs = train_theirs(strategy, TASKS[:2])
    agree(train_ours(learner, TASKS[:2]), theirs)
    assert 0 < float(their_worths(plugin).max()) < 0.001


def test_si_counts_the_task_s_loss_alone(copying) -> None:
    """Once there is a penalty, Avalanche counts its pull as if it were the task's loss.

    The method sums the gradient of the loss of the task. The two are the same in the first task, and part in
    the second.
    """
    learner = SI(**settings(strength=2500.0, damping=100.0))
    plugin, strategy = si_of_avalanche(learner)
    train_theirs(strategy, TASKS[:1])
    train_ours(learner, TASKS[:1])
    np.testing.assert_allclose(our_worths(learner), their_worths(plugin), rtol=1e-3, atol=1e-8)
    train_theirs(strategy, TASKS[1:2])
    train_ours(learner, TASKS[1:2])
    apart = (our_worths(learner) - their_worths(plugin)).abs()
    assert float(apart.max()) > 0.01 * float(our_worths(learner).max())
