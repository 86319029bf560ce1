"""DualPrompt."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from everlearn.errors import check_range
from everlearn.learners.base import setting
from everlearn.learners.prompting import GrowingPrompts, PromptLearner
from everlearn.learners.stateful import Names
from everlearn.networks.layers import cosines
from everlearn.rng import rng_at
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images


class DualPrompt(PromptLearner):
    """DualPrompt: prefixes of all tasks and of each task on a frozen transformer.

    A prefix is a few keys and values that are put before those of the tokens in the attention of a block. All
    tasks share general prefixes in the first blocks. Each task has expert prefixes in the next blocks and a
    key; new ones start as copies of those of the last task, with a random key. Training uses the expert
    prefixes of the current task, and predictions those of the task whose key has the largest cosine with the
    query. With q the query and k the key of the task, the loss is cross-entropy of the class token over the
    labels of the current task - pull_weight * cos(q, k). It fails where `l2p` fails, and where queries do not
    distinguish tasks. The number of expert prefixes grows with the tasks.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = DualPrompt.tiny()
        >>> for task in sprites(image_size=16, factor_values=2).take(2):
        ...     learner.begin(task.for_learner())
        ...     losses = learner.learn(task.train[:8])
        >>> sorted(losses), learner.pool.keys.shape
        (['cross_entropy', 'loss', 'similarity'], torch.Size([2, 128]))

    Reference: Wang et al. 2022, "DualPrompt: complementary prompting", arXiv:2204.04799.
    """

    learning_rate: float = setting(default=0.005)
    n_general_blocks: int = setting(
        "number of first blocks that have general prefixes", default=2, ge=0, le=1000
    )
    n_expert_blocks: int = setting(
        "number of next blocks that have expert prefixes, at most all others", default=3, ge=1, le=1000
    )
    general_length: int = setting("keys and values of a general prefix", default=5, ge=1, le=1000)
    expert_length: int = setting("keys and values of an expert prefix", default=20, ge=1, le=1000)
    pull_weight: float = setting("weight of cosines of queries and keys", default=1.0, ge=0, le=1e6)

    counters: ClassVar[Names] = ("n_begun",)
    tiny_settings: ClassVar = {"general_length": 2, "expert_length": 2}

    def setup(self) -> None:
        self.n_begun = 0
        super().setup()

    def make_pool(self) -> nn.Module:
        check_range("n_general_blocks", self.n_general_blocks, 0, len(self.vit.blocks) - 1)
        n_expert = min(self.n_expert_blocks, len(self.vit.blocks) - self.n_general_blocks)
        d = self.vit.n_features
        general = (self.n_general_blocks, 2, self.general_length, d)
        return _Prefixes(general, (n_expert, 2, self.expert_length, d), self.seed)

    def begin(self, task: TaskView) -> None:
        if self.n_begun:
            self.pool.add_task()
        self.n_begun += 1
        super().begin(task)

    def losses(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        tokens, queries = self.backbone.tokens_and_queries(batch.images)
        features = self.class_tokens(tokens, self.pool.experts[-1:].expand(len(batch), -1, -1, -1, -1))
        terms = {
            "cross_entropy": self.cross_entropy(features, batch.labels),
            "similarity": cosines(queries, self.pool.keys[-1:]).mean(),
        }
        return terms["cross_entropy"] - self.pull_weight * terms["similarity"], terms

    def prompted(self, images: Images) -> Tensor:
        tokens, queries = self.backbone.tokens_and_queries(images)
        return self.class_tokens(tokens, self.pool.experts[cosines(queries, self.pool.keys).argmax(1)])

    def class_tokens(self, tokens: Tensor, experts: Tensor) -> Tensor:
        """The class tokens (n, d) with general prefixes and experts (n, n_blocks, 2, length, d)."""
        prefixes = [each.expand(len(tokens), -1, -1, -1) for each in self.pool.general]
        prefixes += experts.unbind(1)
        return self.vit.encode(tokens, dict(enumerate(prefixes)))[:, 0]


class _Prefixes(GrowingPrompts):
    """General prefixes, and expert prefixes and a key for each task."""

    def __init__(self, general: tuple[int, ...], experts: tuple[int, ...], seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.general = nn.Parameter(self._draw("general prefixes", 0, *general))
        self.experts = nn.Parameter(self._draw("expert prefixes", 0, 1, *experts))
        self.keys = nn.Parameter(self._draw("prompt keys", 0, 1, experts[-1]))

    def add_task(self) -> None:
        """Append a copy of the latest expert prefixes, and a random key."""
        key = self._draw("prompt keys", len(self.keys), 1, self.keys.shape[1])
        self.append(experts=self.experts.detach()[-1:], keys=key)

    def _draw(self, purpose: str, number: int, *shape: int) -> Tensor:
        numbers = rng_at(self.seed, purpose, number).uniform(torch.Size(shape).numel(), -1, 1)
        return torch.from_numpy(numbers).float().view(shape)
