"""Experience replay with asymmetric cross-entropy (ER-ACE)."""

import torch
from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import Losses
from everlearn.learners.classifier import concat, without_factors
from everlearn.learners.er import ER
from everlearn.streams import Batch


class ERACE(ER):
    """Experience replay with asymmetric cross-entropy.

    The loss is the cross-entropy of new images over the labels of their batch + the cross-entropy of replayed
    images over all labels. New images then do not push the logits of old labels down, which in `er` moves the
    features of old classes abruptly when a task starts. The two losses have equal weight; all images pass
    through the network together, so that both enter the statistics of batch normalization. Accuracy decays as
    with `er` when classes outgrow the buffer.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = ERACE.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> sorted(losses)
        ['loss', 'new', 'replayed']

    Reference: Caccia et al. 2022, "New insights on reducing abrupt representation change in online continual
    learning", arXiv:2104.05025.
    """

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        sample, n = self.buffer.sample(self.replay_size), len(batch)
        images, targets = self.tensors(concat(batch, sample))
        logits = self.logits(images)
        losses = {"new": functional.cross_entropy(logits[:n], targets[:n])}
        if len(sample):
            within = only_present(logits[:n], targets[:n])
            losses = {
                "new": functional.cross_entropy(within, targets[:n]),
                "replayed": functional.cross_entropy(logits[n:], targets[n:]),
            }
        self.buffer.add(without_factors(batch))
        return self.step_on_sum(losses)


def only_present(logits: Tensor, targets: Tensor) -> Tensor:
    """The logits (n, n_labels) with -inf for labels that do not occur among the targets.

    Example:
        >>> only_present(torch.ones(2, 3), torch.tensor([2, 0]))
        tensor([[1., -inf, 1.],
                [1., -inf, 1.]])
    """
    is_absent = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
    return logits.masked_fill(is_absent.index_fill(0, targets, False), -torch.inf)
