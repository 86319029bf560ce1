"""Generative negative replay (GNR)."""

from collections import Counter
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from everlearn.errors import BadInput, check_range
from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_LEARNING_RATE, MAX_REPLAY
from everlearn.learners.cwr import CWRLearner
from everlearn.learners.gnr.latent_replay import (
    ActivationMeans,
    FeatureExtractor,
    GeneratedActivations,
    LatentBatch,
    NoiseActivations,
    ReplaySource,
    StoredActivations,
)
from everlearn.learners.stateful import Names
from everlearn.memory.base import MAX_CAPACITY
from everlearn.networks import map_batches
from everlearn.networks.cvae import ConditionalVAE
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

N_CHECKED = 256
"""Replayed activations whose quality is measured when a task begins."""


class GNR(CWRLearner):
    """Generative negative replay.

    Latent activations of past classes are replayed at one layer of the network; the layers below it are
    frozen after the first task, so that activations stay valid. They come from a generator that is trained on
    its own samples of earlier tasks, so they degrade. As positive examples they then harm the classes that
    they represent; as negative examples of the new classes they still limit the share of the feature space
    that these take, which matters most where a task has few classes. Source and role are settings: PR-OD of
    the paper is real and positive, PR-GD generated and positive, NR-OD, NR-GD and NR-RD are real, generated
    and random, and negative.

    In the form "ar1" class weights are trained per task and consolidated as in CWR*, and negative replay does
    not consolidate those of classes that are only replayed. In the form "standalone" there is one head, and
    negative replay stops the gradient of replayed activations in logits of classes that are not in the task.
    These logits stay in the softmax, so the loss is the same. The head has no weight decay then, since class
    weights without gradient would vanish.

    The generator is a conditional VAE of the activations, which it encodes through the upper layers of the
    classifier. It is trained when a task ends, which cannot be interrupted.

    `replay_quality`, logged with the loss, is the share of replayed activations that are nearest to the real
    mean of their class. The means are stored for this measurement only; the classifier's own accuracy would
    not measure quality, since the generator is trained to maximize it.

    Example:
        >>> GNR.tiny().supervision
        'labelled images'
        >>> GNR(source="real", role="positive", image_shape=(16, 16)).supervision
        'labelled images, past activations'

    Reference: "Generative negative replay for continual learning", 2021, under review at ICLR 2022.
    """

    source: Literal["generated", "real", "random", "none"] = setting(
        'replayed activations: "generated", "real" (stored), "random" (noise) or "none"', default="generated"
    )
    role: Literal["negative", "positive"] = setting(
        'use of replayed activations: "negative", or "positive" like those of new images', default="negative"
    )
    form: Literal["ar1", "standalone"] = setting(
        '"ar1" with consolidated class weights, or "standalone" for plain fine-tuning with replay',
        default="ar1",
    )
    replay_layer: int | str = setting(
        "backbone layers below the replayed activations: their number, or the name of the last", default=4
    )
    rectified: bool = setting("replayed activations are nonnegative, as after a ReLU", default=True)
    memory_size: int = setting("activations stored or generated per task", default=300, ge=1, le=MAX_CAPACITY)
    replay_size: int = setting("activations replayed with each batch", default=64, ge=1, le=MAX_REPLAY)
    backbone_lr: float = setting(
        "learning rate of the upper layers after the first task", default=1e-3, ge=0, le=MAX_LEARNING_RATE
    )
    generator_width: int = setting("hidden units of the generator", default=256, ge=1, le=65_536)
    n_latents: int = setting("latents of the generator", default=100, ge=1, le=65_536)
    class_scale: float = setting(
        "standard deviation of the initial class embeddings of the generator; 0.05 is that of an ordinary "
        "dense layer after one-hot classes",
        default=1.0, ge=0, le=1e3,
    )  # fmt: skip
    generator_lr: float = setting("learning rate of the generator (Adam)", default=2e-3, ge=1e-9, le=1e3)
    generator_epochs: int = setting("epochs over the activations of a task", default=4, ge=1, le=10_000)
    generator_batch_size: int = setting(
        "activations per step of the generator, new and replayed", default=128, ge=1, le=65_536
    )
    generator_replay_size: int = setting("how many of these are its own samples", default=64, ge=0)
    beta: float = setting("weight of the KL divergence of the latents", default=0.1, ge=0, le=1e6)
    eta: float = setting("weight of the classifier's loss on its samples", default=0.01, ge=0, le=1e6)

    parts: ClassVar[Names] = ("replay", "class_means")
    counters: ClassVar[Names] = ("task_classes", "replay_quality")
    ablations: ClassVar = {
        "negative role": {"role": "positive"},
        "replay": {"source": "none"},
        "learned generator": {"source": "random"},
        "consolidated class weights": {"form": "standalone"},
        "classifier loss": {"eta": 0.0},
    }
    tiny_settings: ClassVar = {
        "generator_width": 8, "n_latents": 4, "generator_epochs": 1, "memory_size": 8, "replay_size": 4,
    }  # fmt: skip

    def setup(self) -> None:
        check_range("generator_replay_size", self.generator_replay_size, 0, self.generator_batch_size - 1)
        if self.replay_layer == 0:
            raise BadInput("replay_layer is 0, which would replay images; give the number of a layer, from 1")
        super().setup()
        self.task_classes: list[int] = []
        self.replay_quality = 0.0
        self.class_means = ActivationMeans()
        self.replay = self._make_source()
        if self.source == "real":
            self.supervision += ", past activations"

    def begin(self, task: TaskView) -> None:
        past_classes = range(len(self.net.head.labels)) if self.n_ended else []
        self.replay.prepare(past_classes, task.index)
        replayed = self._sample(N_CHECKED)
        self.replay_quality = self.class_means.share_nearest(replayed) if len(replayed.targets) else 0.0
        self.begin_training(task)
        self.task_classes = self.class_indices(task.labels)
        if self.form == "ar1":
            self.start_head(sorted({*self.task_classes, *self._replayed()}))

    def learn(self, batch: Batch) -> Losses:
        losses = super().learn(batch)
        return losses | {"replay_quality": self.replay_quality} if self._replayed() else losses

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        replayed = self._sample(self.replay_size)
        activations = self.lower_activations(images)
        n_new = len(activations)
        self.count_layer_flops(n_lower=n_new, n_upper=n_new + len(replayed.targets))
        if len(replayed.targets):
            activations = torch.cat([activations, replayed.activations])
        logits = self.class_logits(self.upper(activations), self.net.head.weight)
        if self.role == "negative" and self.form == "standalone":
            logits = stop_gradient(logits, self.task_classes, since=n_new)
        return functional.cross_entropy(logits, torch.cat([targets, replayed.targets]))

    def end(self, task: TaskView) -> None:
        targets = self.net.head.class_indices(task.train.labels)
        if self.form == "ar1":
            counts = Counter(targets.tolist())
            self.consolidate(counts if self.role == "negative" else counts + Counter(self._replayed()))
        self.end_training()
        if self.source != "none":
            self.count_flops(len(targets), self.lower_flops, backward=False)
            batch = LatentBatch(self._activations(task.train.images), targets)
            self.class_means.add(batch)
            self.flops += self.replay.fit(batch, task.index)

    def latent_activations(self, images: Images) -> FloatArray:
        """The activations of images at the replay layer, flat, (n, n_units)."""
        return np.asarray(self._activations(images).flatten(1).double().cpu().numpy())

    def sample_replay(self, n: int) -> tuple[FloatArray, IntArray]:
        """At most n activations that the next task would replay, and their labels; changes the state."""
        if self.source == "none":
            raise BadInput('this learner replays nothing; train one with a source other than "none"')
        self.replay.prepare(range(len(self.net.head.labels)), self.n_ended)
        replayed = self.replay.sample(n, self.n_steps)
        labels = np.array(self.net.head.labels, np.int64)[replayed.targets.cpu().numpy()]
        return replayed.activations.flatten(1).double().cpu().numpy(), labels

    @property
    def n_frozen_layers(self) -> int | str:
        return self.replay_layer

    @property
    def head_weight_decay(self) -> float:
        return self.weight_decay if self.form == "ar1" else 0.0

    def _replayed(self) -> dict[int, int]:
        """The classes that are replayed in this task, and the number of activations of each."""
        return self.replay.counts() if self.n_ended else {}

    def _sample(self, n: int) -> LatentBatch:
        source = self.replay if self.n_ended else ReplaySource()
        return source.sample(n, self.n_steps).to(self.net.head.weight.device)

    def _activations(self, images: Images) -> Tensor:
        self.lower.eval()
        activations = map_batches(lambda part: self.lower(self.tensor(part)), images)
        return activations.to(self.net.head.weight.device)

    def _upper_features(self, activations: Tensor) -> Tensor:
        return self.upper.eval()(activations)

    def _inference_logits(self, features: Tensor) -> Tensor:
        return self.class_logits(features, self.inference_weights())

    def _make_source(self) -> ReplaySource:
        if self.source == "none":
            return ReplaySource()
        if self.source == "real":
            return StoredActivations(memory_size=self.memory_size, seed=self.seed)
        shape = tuple(self._activations(np.zeros((1, *self.image_shape), np.uint8)).shape[1:])
        if self.source == "random":
            return NoiseActivations(
                shape=shape, memory_size=self.memory_size, seed=self.seed, rectified=self.rectified
            )
        generator = ConditionalVAE(
            self.net.n_features, shape, self.generator_width, self.n_latents, self.seed,
            class_scale=self.class_scale, rectified=self.rectified,
        )  # fmt: skip
        extractor = FeatureExtractor(self._upper_features, self._inference_logits, self.upper_flops)
        return GeneratedActivations(generator, extractor, self)


def stop_gradient(logits: Tensor, class_indices: list[int], *, since: int) -> Tensor:
    """The same logits; from row `since` on, gradients flow to those of some classes only.

    Example:
        >>> logits = torch.zeros(2, 3, requires_grad=True)
        >>> stop_gradient(logits, [2], since=1).sum().backward()
        >>> logits.grad
        tensor([[1., 1., 1.],
                [0., 0., 1.]])
    """
    has_gradient = torch.zeros_like(logits, dtype=torch.bool)
    has_gradient[:since] = True
    has_gradient[:, class_indices] = True
    return torch.where(has_gradient, logits, logits.detach())
