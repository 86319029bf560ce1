"""Weight averaging over tasks: EMA, task arithmetic and TIES."""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from everlearn.learners.averaging import AveragedNet
from everlearn.learners.base import setting
from everlearn.learners.classifier import Classifier
from everlearn.learners.distillation import FrozenCopy
from everlearn.learners.stateful import Names
from everlearn.networks import IncrementalNet, pad_to
from everlearn.streams import TaskView


class Merge(Classifier):
    """Weight averaging over tasks (model merging).

    Each task is trained as by `naive`; when it ends, its weights are merged with those of earlier tasks, and
    predictions are made with the merged weights. "ema" starts a task from the merged weights m and then moves
    them to (1 - share) m + share w, with w the weights after the task; the weights of new labels are copied.
    The others start each task from the initial weights w0, and add up task vectors v = w - w0:
    "task-arithmetic" predicts with w0 + factor * sum of v; "ties" trims each v to its largest entries, elects
    the sign of the sum for each entry, and predicts with w0 + factor * mean of the entries of that sign.
    Statistics of batch normalization are averaged over tasks.

    No image is stored. It needs pretrained weights, from which tasks do not move far: averages of unrelated
    weights are useless. In class-incremental streams logits of different tasks are never compared.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = Merge.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     learner.begin(task.for_learner())
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> learner.merged.n_labels
        6

    References: Dziadzio et al. 2024, "How to merge your multimodal models over time?", arXiv:2412.06712;
    Ilharco et al. 2023, "Editing models with task arithmetic", arXiv:2212.04089; Yadav et al. 2023,
    "TIES-merging: resolving interference when merging models", arXiv:2306.01708.
    """

    average: float = setting("0: predictions are made with merged weights", default=0.0, ge=0, le=0)
    method: Literal["ema", "task-arithmetic", "ties"] = setting("how weights are merged", default="ema")
    share: float = setting("share of the latest task in the weights of ema", default=0.5, ge=0, le=1)
    factor: float = setting("factor of merged task vectors", default=1.0, ge=0, le=1e3)
    kept: float = setting("share of the entries of a task vector that ties keeps", default=0.2, gt=0, le=1)

    parts: ClassVar[Names] = ("initial", "merged", "sums")
    counters: ClassVar[Names] = ("n_ended",)

    def setup(self) -> None:
        super().setup()
        self.n_ended = 0
        self.merged, self.initial = AveragedNet(self.net), FrozenCopy(self.net)
        self.sums: list[Tensor] = []
        if self.method != "ema":
            self.initial.update()
            n = 4 if self.method == "ties" else 1
            self.sums = [weight.new_zeros(n, *weight.shape) for weight in self.net.parameters()]

    def begin(self, task: TaskView) -> None:
        start = self.initial.net or self.merged.net
        if self.n_ended and start:
            copy_weights(start, self.net)
            self.optim = self.make_optimizer()

    def end(self, task: TaskView) -> None:
        self.n_ended += 1
        self.merged.add_labels()
        self.merged.average(self.share if self.method == "ema" else 1 / self.n_ended)
        if self.method != "ema":
            self._merge_vectors()

    @torch.no_grad()
    def _merge_vectors(self) -> None:
        """Add the vector of the latest task to the sums, and set the merged weights."""
        initial, merged = self.initial.net, self.merged.net
        assert initial is not None and merged is not None  # noqa: PT018, S101
        weights = list(self.net.parameters())
        starts = [pad_to(w0, w.shape) for w0, w in zip(initial.parameters(), weights, strict=True)]
        vectors = [w - w0 for w, w0 in zip(weights, starts, strict=True)]
        if self.method == "ties":
            vectors = trim(vectors, self.kept)
        for i, vector in enumerate(vectors):
            new = signed_parts(vector) if self.method == "ties" else vector[None]
            self.sums[i] = pad_to(self.sums[i], new.shape) + new
        for target, start, sums in zip(merged.parameters(), starts, self.sums, strict=True):
            target.copy_(start + self.factor * (elected_mean(sums) if self.method == "ties" else sums[0]))

    def inference_logits(self, images: Tensor) -> Tensor:
        return self.merged(images) if self.merged else self.net(images)


@torch.no_grad()
def copy_weights(source: IncrementalNet, target: IncrementalNet) -> None:
    """Copy weights and statistics to a network with as many labels or more; other labels get zeros."""
    target.backbone.load_state_dict(source.backbone.state_dict())
    for name, weight in target.head.named_parameters():
        weight.copy_(pad_to(source.head.get_parameter(name), weight.shape))


def trim(vectors: list[Tensor], kept: float) -> list[Tensor]:
    """The vectors with zeros in place of all but a share of the entries: those of the largest magnitude.

    Example:
        >>> trim([torch.tensor([1.0, -5.0]), torch.tensor([[3.0, 0.5]])], 0.5)
        [tensor([ 0., -5.]), tensor([[3., 0.]])]
    """
    magnitudes = torch.cat([vector.flatten() for vector in vectors]).abs()
    least = magnitudes.topk(max(1, round(kept * len(magnitudes)))).values[-1]
    return [vector * (vector.abs() >= least) for vector in vectors]


def signed_parts(vector: Tensor) -> Tensor:
    """Positive entries, negative entries and the masks of both, (4, ...), which TIES adds up over tasks."""
    return torch.stack(
        [vector.clamp_min(0), vector.clamp_max(0), (vector > 0).to(vector), (vector < 0).to(vector)]
    )


def elected_mean(sums: Tensor) -> Tensor:
    """The mean of the entries that have the sign of their sum, from sums (4, ...) of signed parts.

    Example:
        >>> elected_mean(signed_parts(torch.tensor([2.0, -1.0])) + signed_parts(torch.tensor([4.0, 3.0])))
        tensor([3., 3.])
    """
    positive, negative, n_positive, n_negative = sums
    means = positive / n_positive.clamp_min(1), negative / n_negative.clamp_min(1)
    return torch.where(positive + negative >= 0, *means)
