"""Unbiased experience replay (UER)."""

from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import concat, without_factors
from everlearn.learners.er import ER
from everlearn.networks.layers import cosines
from everlearn.rng import IntArray, rng_at
from everlearn.streams import Batch


class UER(ER):
    """Unbiased experience replay.

    The logit of a feature f and the weight vector w of a label is the dot product |w| |f| cos(w, f). New
    images are trained by the angle only: their loss is the cross-entropy of cos(w, f) / temperature. Replayed
    images are trained by norm and angle: their loss is the cross-entropy of the dot products. Both losses
    have equal weight, and predictions are made from the dot products. New images then cannot make the weight
    vectors of new labels longer, which in `er` favors new labels. Accuracy decays as with `er` when classes
    outgrow the buffer.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = UER.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        >>> sorted(losses)
        ['loss', 'new', 'replayed']

    Reference: Lin et al. 2023, "UER: a heuristic bias addressing approach for online continual learning",
    arXiv:2309.04081.
    """

    temperature: float = setting("temperature of the cosines of new images", default=0.09, ge=1e-3, le=1e3)

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        sample, n = self.buffer.sample(self.replay_size), len(batch)
        images, targets = self.tensors(concat(batch, sample))
        self.count_flops(len(images), self.forward_flops)
        features = self.net.backbone(images)
        vectors = self.net.head.weight[: len(self.net.head.labels)]
        logits = cosines(features[:n], vectors) / self.temperature
        losses = {"new": functional.cross_entropy(logits, targets[:n])}
        if len(sample):
            losses["replayed"] = functional.cross_entropy(features[n:] @ vectors.T, targets[n:])
        self.buffer.add(without_factors(batch))
        return self.step_on_sum(losses)

    def add_labels(self, labels: IntArray) -> None:
        """Add new labels with random weight vectors; zeros would have no direction."""
        first, std = len(self.net.head.labels), self.net.n_features**-0.5
        super().add_labels(labels)
        self.net.head.draw_rows(first, rng_at(self.seed, "uer vectors", first), std)
