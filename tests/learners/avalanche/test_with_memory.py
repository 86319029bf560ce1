"""Methods with a replay buffer: ER, ER-ACE, MIR, SCR, A-GEM, DER.

Avalanche draws random samples; our learner gets the same ones, and must compute the same from them. Images
enter the buffers at different times, which is tested separately.
"""

import numpy as np
import pytest
import torch

from everlearn.learners.agem import AGEM
from everlearn.learners.der import DER, DERPlusPlus
from everlearn.learners.er import ER
from everlearn.learners.er_ace import ERACE
from everlearn.learners.mir import MIR
from everlearn.learners.scr import supervised_contrastive
from everlearn.streams import Batch
from everlearn.streams.adapters import to_avalanche

from .peer import (
    BATCH,
    STREAM,
    TASKS,
    FixedSamples,
    agree,
    as_sample,
    settings,
    their_settings,
    train_ours,
    train_theirs,
)

pytestmark = pytest.mark.filterwarnings("ignore:No loggers specified")  # Avalanche's


def test_er(avalanche) -> None:
    """One cross-entropy over new and drawn images together."""
    from avalanche.core import SupervisedPlugin
    from avalanche.training import Naive as Theirs
    from avalanche.training.plugins import ReplayPlugin

    drawn = []

    class Watcher(SupervisedPlugin):
        def before_forward(self, strategy, **_):
            new = len(strategy.mb_x) - (BATCH if strategy.clock.train_exp_counter else 0)
            drawn.append(
                as_sample(strategy.mb_x[new:], strategy.mb_y[new:]) if new < len(strategy.mb_x) else None
            )

    torch.manual_seed(0)
    learner = ER(**settings())
    replay = ReplayPlugin(mem_size=24, batch_size_mem=BATCH)
    theirs = train_theirs(Theirs(plugins=[replay, Watcher()], **their_settings(learner)))
    learner.buffer = FixedSamples(drawn)  # type: ignore[assignment]
    agree(train_ours(learner), theirs)


def test_er_replays_the_current_task_too() -> None:
    """Avalanche fills its memory when a task ends; reservoir sampling knows no tasks and takes in every
    batch, so ours may draw images of the present one."""
    learner = ER(**settings())
    for batch in list(TASKS[0].train.batches(BATCH))[:2]:
        learner.learn(batch)
    assert len(learner.buffer) == 2 * BATCH


def test_er_ace(avalanche) -> None:
    """New images over their own labels, drawn images over all. Avalanche compares all labels in the first
    task, as ours does without images to replay, and averages the two losses, which the paper adds up."""
    from avalanche.core import SupervisedPlugin
    from avalanche.training.supervised.er_ace import ER_ACE

    drawn = []

    class Watcher(SupervisedPlugin):
        def before_forward(self, strategy, **_):
            has_sample = strategy.replay_loader is not None
            drawn.append(as_sample(strategy.mb_buffer_x, strategy.mb_buffer_y) if has_sample else None)

    torch.manual_seed(0)
    learner = ERACE(**settings())
    their = {"mem_size": 24, "batch_size_mem": BATCH, **their_settings(learner)}
    strategy = ER_ACE(plugins=[Watcher()], **their)
    mean = strategy.ace_criterion
    strategy.ace_criterion = lambda *args: 2 * mean(*args)
    theirs = train_theirs(strategy)
    learner.buffer = FixedSamples(drawn)  # type: ignore[assignment]
    agree(train_ours(learner), theirs)


def test_mir(avalanche) -> None:
    """The same images are selected among the same candidates."""
    from avalanche.training import Naive as Theirs
    from avalanche.training.plugins import MIRPlugin

    drawn = []

    class Watched(MIRPlugin):
        def before_backward(self, strategy, **kwargs):
            if self.replay_loader is None:
                drawn.append(None)
                return
            candidates = next(self.replay_loader)
            drawn.append(as_sample(*candidates[:2]))
            loader, self.replay_loader = self.replay_loader, iter([candidates])
            super().before_backward(strategy, **kwargs)
            self.replay_loader = loader

    torch.manual_seed(0)
    learner = MIR(**settings(replay_size=4))
    plugin = Watched(batch_size_mem=4, mem_size=24, subsample=12)
    theirs = train_theirs(Theirs(plugins=[plugin], **their_settings(learner)))
    assert 0 < sum(sample is None for sample in drawn) < len(drawn)
    learner.buffer = FixedSamples(drawn)  # type: ignore[assignment]
    agree(train_ours(learner), theirs)


@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_contrastive_loss_of_scr(avalanche, temperature: float) -> None:
    """Avalanche divides by a base temperature of 0.07, which the paper does not have."""
    from avalanche.training.losses import SCRLoss

    views = torch.nn.functional.normalize(torch.randn(6, 2, 8, generator=torch.manual_seed(0)), dim=2)
    labels = torch.tensor([0, 1, 1, 2, 0, 1])
    theirs = SCRLoss(temperature=temperature)(views, labels) * 0.07 / temperature
    ours = supervised_contrastive(views.transpose(0, 1).flatten(0, 1), labels.repeat(2), temperature)
    torch.testing.assert_close(ours, theirs)


def test_a_gem(avalanche) -> None:
    """The same projection of the gradient against that of the images drawn."""
    from avalanche.training import Naive as Theirs
    from avalanche.training.plugins import AGEMPlugin

    drawn, projected = [], []

    class Watched(AGEMPlugin):
        def sample_from_memory(self):
            images, labels, tasks = super().sample_from_memory()
            drawn.append(as_sample(images, labels))
            return images, labels, tasks

        def after_backward(self, strategy, **kwargs):
            before = [p.grad.clone() for p in strategy.model.parameters()]
            super().after_backward(strategy, **kwargs)
            pairs = zip(before, strategy.model.parameters(), strict=True)
            projected.append(any(not torch.equal(old, p.grad) for old, p in pairs))

    torch.manual_seed(0)
    learner = AGEM(**settings())
    theirs = train_theirs(Theirs(plugins=[Watched(10, sample_size=12)], **their_settings(learner)))
    n_first = len(theirs.losses) - len(drawn)
    learner.buffer = FixedSamples([None] * n_first + drawn)  # type: ignore[assignment]
    agree(train_ours(learner), theirs)
    assert any(projected)
    assert not all(projected)


def test_a_gem_draws_one_sample_over_all_tasks(avalanche) -> None:
    """Avalanche draws sample_size // n_tasks images of each task, and breaks once there are more tasks than
    that; the method draws one random batch from all of the memory."""
    from avalanche.training.plugins import AGEMPlugin

    plugin, dataset = AGEMPlugin(10, sample_size=12), to_avalanche(STREAM).train_stream[0].dataset
    for _ in range(13):
        plugin.update_memory(dataset)
    with pytest.raises(ValueError, match="batch_size"):
        plugin.sample_from_memory()
    learner, images = AGEM(**settings(replay_size=12)), TASKS[0].train.images[:20]
    for label in range(13):
        learner.buffer.add(Batch(images, np.full(20, label)))
    assert len(learner.buffer.sample(learner.replay_size)) == 12


def der_of_avalanche(learner: DER, beta: float):
    """The log and the samples of Avalanche; all labels have a logit from the start, since it cannot compare
    logits of different numbers of labels."""
    from avalanche.core import SupervisedPlugin
    from avalanche.training.supervised import der

    drawn = []

    class Watcher(SupervisedPlugin):
        def after_forward(self, strategy, **_):
            if strategy.replay_loader is None:
                drawn.append(None)
                return
            images, labels = strategy.mb_x[:BATCH], strategy.mb_y[:BATCH]
            drawn.append(as_sample(images, labels, logits=strategy.batch_logits.numpy()))

    torch.manual_seed(0)
    learner.add_labels(np.arange(9))
    their = {"mem_size": 24, "batch_size_mem": BATCH, "alpha": learner.alpha, "beta": beta}
    return train_theirs(der.DER(plugins=[Watcher()], **their, **their_settings(learner))), drawn


def test_der(avalanche) -> None:
    """Cross-entropy on new images, and the mean square between logits and those kept."""
    learner = DER(**settings(alpha=0.6))
    theirs, drawn = der_of_avalanche(learner, beta=0.0)
    learner.buffer = FixedSamples(drawn)  # type: ignore[assignment]
    agree(train_ours(learner), theirs)


def test_der_plus_plus(avalanche) -> None:
    """Avalanche has one sample for logits and labels; given it twice, our two terms agree."""
    learner = DERPlusPlus(**settings(alpha=0.6, beta=0.4))
    theirs, drawn = der_of_avalanche(learner, beta=0.4)
    learner.buffer = FixedSamples([sample for sample in drawn for _ in range(2)])  # type: ignore[assignment]
    agree(train_ours(learner), theirs)


def test_der_stores_the_logits_of_the_training_step() -> None:
    """Avalanche computes logits when a task ends; the method stores those of the training step."""
    learner = DER(**settings())
    batch = TASKS[0].train[:BATCH]
    learner.learn(batch)
    assert not learner.buffer.everything().extra["logits"].any()  # the logits before the first step
    for _ in range(5):
        learner.learn(batch)
    assert learner.buffer.everything().extra["logits"][-BATCH:].any()
