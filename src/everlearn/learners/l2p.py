"""Learning to prompt (L2P)."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from everlearn.errors import check_range
from everlearn.learners.base import setting
from everlearn.learners.prompting import PromptLearner
from everlearn.networks import seeded
from everlearn.networks.layers import cosines
from everlearn.streams import Batch
from everlearn.streams.stream import Images


class L2P(PromptLearner):
    """Learning to prompt.

    A pretrained transformer is frozen; prompts, their keys and a head are trained. The class token of an
    image is the query that selects the `n_selected` prompts with the most similar keys; these are put before
    the tokens of the image, and the mean of their outputs is classified. With q the query and k the selected
    keys, the loss is cross-entropy over the labels of the current task - pull_weight * sum of cosines (q, k).
    It does well where the transformer was trained on similar images, and fails elsewhere: prompts cannot
    change its features. Images are resized to the transformer's input size; gray ones are repeated over
    channels.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = L2P.tiny()
        >>> learner.begin(task.for_learner())
        >>> sorted(learner.learn(task.train[:8]))
        ['cross_entropy', 'loss', 'similarity']

    Reference: Wang et al. 2022, "Learning to prompt for continual learning", arXiv:2112.08654.
    """

    n_prompts: int = setting("prompts in the pool", default=10, ge=1, le=10_000)
    prompt_length: int = setting("tokens of a prompt", default=5, ge=1, le=1000)
    n_selected: int = setting("prompts selected for each image", default=5, ge=1)
    pull_weight: float = setting("weight of cosines of queries and selected keys", default=0.1, ge=0, le=1e6)

    tiny_settings: ClassVar = {"n_prompts": 4, "prompt_length": 2, "n_selected": 2}

    def setup(self) -> None:
        check_range("n_selected", self.n_selected, 1, self.n_prompts)
        super().setup()

    def make_pool(self) -> nn.Module:
        return _PromptPool(self.n_prompts, self.prompt_length, self.vit.n_features, self.seed)

    def losses(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        features, similarity = self.features_and_similarity(batch.images)
        terms = {
            "cross_entropy": self.cross_entropy(features, batch.labels),
            "similarity": similarity.mean(),
        }
        return terms["cross_entropy"] - self.pull_weight * terms["similarity"], terms

    def prompted(self, images: Images) -> Tensor:
        return self.features_and_similarity(images)[0]

    def features_and_similarity(self, images: Images) -> tuple[Tensor, Tensor]:
        """The features (n, d) of images with their prompts, and the similarity (n,) of queries and keys."""
        tokens, queries = self.backbone.tokens_and_queries(images)
        prompts, similarity = self.pool(queries, self.n_selected)
        encoded = self.vit.encode(torch.cat([prompts, tokens], dim=1))
        return encoded[:, : prompts.shape[1]].mean(1), similarity


class _PromptPool(nn.Module):
    """Prompts (n_prompts, length, d) and a key (d,) for each."""

    def __init__(self, n_prompts: int, length: int, n_features: int, seed: int) -> None:
        super().__init__()
        with seeded(seed):
            self.prompts = nn.Parameter(torch.empty(n_prompts, length, n_features).uniform_(-1, 1))
            self.keys = nn.Parameter(torch.empty(n_prompts, n_features).uniform_(-1, 1))

    def forward(self, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The prompts (n, k * length, d) with the keys most similar to queries, and sums of cosines."""
        best, rows = cosines(queries, self.keys).topk(k, dim=1)
        return self.prompts[rows].flatten(1, 2), best.sum(1)
