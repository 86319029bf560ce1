"""Supervised contrastive learning with class exemplars."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.base import Learner, Losses, setting
from everlearn.learners.classifier import MAX_LEARNING_RATE, build_optimizer
from everlearn.learners.stateful import Names
from everlearn.memory import ExemplarMemory
from everlearn.networks.backbones import make_backbone
from everlearn.networks.devices import loss_values, to_device
from everlearn.networks.distributed import data_parallel
from everlearn.networks.layers import projection_head
from everlearn.networks.tensors import flops_per_image, map_batches, minimize, to_tensor
from everlearn.rng import IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images


class Contrastive(Learner):
    """Supervised contrastive learning with class exemplars.

    With z the embedding of an image, e that of its class exemplar and s the cosine, the loss of image i is
    l1 + separation_weight * l2, averaged over images, with
    l1 = -s(z_i, e_i) / t + log sum over images k of other classes of exp(s(z_i, z_k) / t), and
    l2 = -1 / t + log sum over other exemplars k of the batch of exp(s(e_i, e_k) / t).
    The prediction is the class of the stored exemplar with the nearest embedding. It forgets slowly: the
    network learns invariance to pose for the current classes and loses it for earlier ones.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = Contrastive.tiny()
        >>> learner.begin(task.for_learner())
        >>> sorted(learner.learn(task.train[:8]))
        ['loss', 'pull', 'separation']
        >>> (learner.predict(task.exemplars.images) == task.exemplars.labels).all()
        np.True_

    Reference: Dziadzio et al. 2023, arXiv:2312.16731, appendix A.4; after Chen et al. 2020, "A simple
    framework for contrastive learning of visual representations", arXiv:2002.05709.
    """

    backbone: str = setting('"small", "resnet18" or another backbone', default="small")
    optimizer: Literal["adam", "sgd"] = setting("optimizer of all weights", default="adam")
    learning_rate: float = setting("learning rate of the optimizer", default=1e-3, gt=0, lt=MAX_LEARNING_RATE)
    momentum: float = setting('momentum of "sgd"', default=0.0, ge=0, le=0.9999)
    embedding_size: int = setting("length of an embedding", default=128, ge=1, le=65_536)
    temperature: float = setting(
        "t; the smaller, the more the nearest embeddings of other classes count",
        default=0.5, ge=1e-3, le=1e3,
    )  # fmt: skip
    separation_weight: float = setting("weight of l2", default=1.0, ge=0, le=1e6)

    parts: ClassVar[Names] = ("net", "optim", "memory")
    counters: ClassVar[Names] = ("n_steps",)
    supervision = "labelled images, exemplars"
    supports_data_parallel = True

    def setup(self) -> None:
        self.memory = ExemplarMemory()
        backbone = make_backbone(self.backbone, self.image_shape, self.seed)
        head = projection_head(backbone.n_features, self.embedding_size, self.seed)
        self.net = data_parallel(nn.Sequential(backbone, *head))
        parameters = list(self.net.parameters())
        self.optim = build_optimizer(self.optimizer, parameters, self.learning_rate, self.momentum)
        self.n_steps = 0
        self.forward_flops = flops_per_image(self.net, self.image_shape)
        self._stored: tuple[int, int, Tensor] | None = None  # step, version of the memory, embeddings

    def begin(self, task: TaskView) -> None:
        self.memory.add(self.memory.first_images(task.exemplars))

    def learn(self, batch: Batch) -> Losses:
        self.memory.add(self.memory.first_images(batch))
        labels, class_of = np.unique(batch.labels, return_inverse=True)
        exemplars = np.stack([self.memory.images_of(label)[0] for label in labels.tolist()])
        self.net.train()
        embeddings = self._embed(np.concatenate([batch.images, exemplars]))
        self.count_flops(len(embeddings), self.forward_flops)
        n, rows = len(batch), to_device(torch.from_numpy(class_of), self.device)
        losses = self._losses(embeddings[:n], embeddings[n:], rows)
        loss = losses["pull"] + self.separation_weight * losses["separation"]
        minimize(loss, self.optim)
        self.n_steps += 1
        return loss_values({"loss": loss, **losses})

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        rows = self._similarities(images).argmax(1)
        return np.asarray(self.memory.labels[rows.numpy()])

    def novelty(self, images: Images) -> npt.NDArray[np.float64]:
        """The cosine distance to the nearest exemplar, 0 to 1."""
        if not len(self.memory):
            return np.ones(len(images))
        nearest = self._similarities(images).amax(1)
        return np.asarray(((1 - nearest) / 2).clamp(0, 1).numpy())

    def on_load(self) -> None:
        self._stored = None

    def _losses(self, embeddings: Tensor, exemplars: Tensor, class_of: Tensor) -> dict[str, Tensor]:
        """L1 and l2; `class_of` has the row of the exemplar of each image."""
        t = self.temperature
        similarity = (embeddings * exemplars[class_of]).sum(1) / t
        others = (embeddings @ embeddings.T / t).masked_fill(class_of[:, None] == class_of, -torch.inf)
        itself = torch.eye(len(exemplars), dtype=torch.bool, device=self.device)
        between = (exemplars @ exemplars.T / t).masked_fill(itself, -torch.inf)
        separation = (_log_sum(between) - 1 / t) if len(exemplars) > 1 else torch.zeros_like(between[0])
        return {"pull": (_log_sum(others) - similarity).mean(), "separation": separation[class_of].mean()}

    @torch.no_grad()
    def _similarities(self, images: Images) -> Tensor:
        """The cosines (n, n_exemplars) between embeddings."""
        self.net.eval()
        if self._stored is None or self._stored[:2] != (self.n_steps, self.memory.version):
            # A copy, since torch warns of read-only arrays.
            embeddings = map_batches(lambda part: self._embed(part.copy()), self.memory.images)
            self._stored = (self.n_steps, self.memory.version, embeddings)
        return map_batches(self._embed, images) @ self._stored[2].T

    def _embed(self, images: Images) -> Tensor:
        # In double precision: the embeddings of a barely trained network are nearly parallel.
        outputs = self.net(to_tensor(images, self.device))
        precise = outputs.float() if self.device.type == "mps" else outputs.double()  # mps has no float64
        return functional.normalize(precise, dim=1)


def _log_sum(exponents: Tensor) -> Tensor:
    """The log of the sum of exponentials in each row; 0 where a row is all -inf: there is no other class."""
    is_empty = torch.isneginf(exponents).all(1)
    return torch.logsumexp(exponents.masked_fill(is_empty[:, None], 0.0), 1).masked_fill(is_empty, 0.0)
