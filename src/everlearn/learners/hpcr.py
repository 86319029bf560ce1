"""Holistic proxy-based contrastive replay (HPCR)."""

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import concat, without_factors
from everlearn.learners.er import ER
from everlearn.learners.stateful import Names
from everlearn.memory import Sample
from everlearn.networks.crops import random_crops
from everlearn.networks.devices import to_like
from everlearn.rng import IntArray, rng_at
from everlearn.streams import Batch, TaskView


class HPCR(ER):
    """Holistic proxy-based contrastive replay.

    The head has a proxy for each label; logits are cosines of features and proxies over `temperature`. The
    views of a step are new and replayed images and a random crop of each. The loss of a view is the
    cross-entropy over the labels of the step, each as often as it occurs there, so that only these compete;
    it is multiplied by a factor that follows a cosine between min_factor and max_factor. From the second task
    on two terms preserve the outputs stored with replayed images: logit_weight * squared error of the logits,
    and relation_weight * cross-entropy between the softmax of cosines among stored and among current
    features. Logits of labels that were unknown when an image was stored are left out.

    It needs no balance between new and old labels. Logits and features add to the size of a stored image.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = HPCR.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> sorted(losses)
        ['contrast', 'logits', 'loss', 'relations']

    References: Lin et al. 2023, "PCR: proxy-based contrastive replay for online class-incremental continual
    learning", arXiv:2304.04408; Lin et al. 2023, "HPCR: holistic proxy-based contrastive replay for online
    continual learning", arXiv:2309.15038.
    """

    average: float = setting("0: predictions are made with the weights as they are", default=0.0, ge=0, le=0)
    temperature: float = setting("temperature of all cosines", default=0.09, ge=1e-3, le=1e3)
    min_factor: float = setting("smallest factor of the contrastive loss", default=0.5625, ge=0, le=1e3)
    max_factor: float = setting("largest factor of the contrastive loss", default=1.8, ge=0, le=1e3)
    period: int = setting("steps from one smallest factor to the next", default=500, ge=1, le=10**9)
    logit_weight: float = setting("weight of the error of stored logits", default=0.1, ge=0, le=1e6)
    relation_weight: float = setting("weight of the relations of stored features", default=0.5, ge=0, le=1e6)
    min_crop: float = setting(
        "smallest area of a crop, as a share of the image; 0.2 in the published code, for photographs",
        default=0.7, gt=0, le=1,
    )  # fmt: skip

    counters: ClassVar[Names] = ("n_ended",)
    ablations: ClassVar = {
        "changing factor": {"min_factor": 1.0, "max_factor": 1.0},
        "stored logits": {"logit_weight": 0.0},
        "relations": {"relation_weight": 0.0},
    }

    def setup(self) -> None:
        super().setup()
        self.n_ended = 0

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        sample, n = self.buffer.sample(self.replay_size), len(batch)
        images, targets = self.tensors(concat(batch, sample))
        features = self.view_features(images)
        logits = self.proxy_logits(features)
        labels = targets.repeat(2)
        losses = {"contrast": self.factor() * contrast(logits.flatten(0, 1), labels)}
        if len(sample) and self.n_ended:
            losses["logits"] = self.logit_weight * self.logit_error(sample, logits[:, n:], labels)
            losses["relations"] = self.relation_weight * self.relation_loss(sample, features[:, n:])
        stored = {"logits": logits[0, :n], "features": features[0, :n]}
        arrays = {name: each.detach().float().cpu().numpy() for name, each in stored.items()}
        self.buffer.add(without_factors(batch), **arrays)
        return self.step_on_sum(losses)

    def view_features(self, images: Tensor) -> Tensor:
        """Normalized features (2, n, d) of images and of their crops."""
        crops = random_crops(images, self.min_crop, rng_at(self.seed, "hpcr crops", self.n_steps))
        self.count_flops(2 * len(images), self.forward_flops)
        return functional.normalize(self.net.backbone(torch.cat([images, crops]))).view(2, len(images), -1)

    def proxy_logits(self, features: Tensor) -> Tensor:
        """Cosines (..., n_labels) of normalized features and proxies, over the temperature."""
        proxies = self.net.head.weight[: len(self.net.head.labels)]
        return features @ functional.normalize(proxies).T / self.temperature

    def logit_error(self, sample: Sample, logits: Tensor, labels: Tensor) -> Tensor:
        """Mean squared error of the stored logits (m, n_then) of the step's labels, over both views."""
        then = np.full(logits.shape[1:], np.nan, np.float32)
        then[:, : sample.extra["logits"].shape[1]] = sample.extra["logits"]
        is_known, stored = (
            to_like(each, logits)[:, labels] for each in (~np.isnan(then), np.nan_to_num(then))
        )
        errors = (logits[:, :, labels] - stored).square() * is_known
        return errors.sum() / (2 * is_known.sum()).clamp_min(1)

    def relation_loss(self, sample: Sample, features: Tensor) -> Tensor:
        """Cross-entropy between the relations of stored features (m, d) and current ones (2, m, d)."""
        stored = to_like(sample.extra["features"], features).repeat(2, 1)
        old, new = (log_relations(each, self.temperature) for each in (stored, features.flatten(0, 1)))
        return -(old.exp() * new.masked_fill(torch.isneginf(new), 0.0)).sum(1).mean()

    def factor(self) -> float:
        """The factor of the contrastive loss in this step."""
        share = 0.5 * (1 - math.cos(2 * math.pi * self.n_steps / self.period))
        return self.min_factor + (self.max_factor - self.min_factor) * share

    def end(self, task: TaskView) -> None:
        self.n_ended += 1

    def inference_logits(self, images: Tensor) -> Tensor:
        return self.proxy_logits(functional.normalize(self.net.backbone(images)))

    def add_labels(self, labels: IntArray) -> None:
        """Add new labels with random proxies; zeros would have no direction."""
        first = len(self.net.head.labels)
        super().add_labels(labels)
        self.net.head.draw_rows(first, rng_at(self.seed, "proxies", first))


def contrast(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of logits (n, n_labels) over the labels (n,), each as often as it occurs.

    Example:
        >>> contrast(torch.zeros(3, 9), torch.tensor([4, 4, 7]))  # log 3
        tensor(1.0986)
    """
    own = logits.gather(1, labels[:, None])[:, 0]
    return (torch.logsumexp(logits[:, labels], 1) - own).mean()


def log_relations(features: Tensor, temperature: float) -> Tensor:
    """The log-softmax (n, n) over the cosines of each normalized feature and all others; -inf for itself."""
    is_self = torch.eye(len(features), dtype=torch.bool, device=features.device)
    cosines = (features @ features.T / temperature).float().masked_fill(is_self, -torch.inf)
    return functional.log_softmax(cosines, 1)
