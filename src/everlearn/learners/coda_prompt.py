"""CODA-Prompt."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.learners.base import setting
from everlearn.learners.prompting import GrowingPrompts, PromptLearner
from everlearn.learners.stateful import Names
from everlearn.rng import rng_at
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images


class CODAPrompt(PromptLearner):
    """CODA-Prompt: prefixes are weighted sums of components on a frozen transformer.

    A prefix is a few keys and values that are put before those of the tokens in the attention of a block.
    Each of the first blocks has components P_m with keys K_m and attention vectors A_m. With q the query of
    an image, its prefix is the sum over m of cos(q * A_m, K_m) P_m, where * is the product of entries. Each
    task adds `n_components`, which start orthogonal to each other and to earlier ones if there are dimensions
    left, and freezes earlier ones. The loss is cross-entropy of the class token over the labels of the
    current task + orthogonality_weight * sum over blocks and B in (P, K, A) of the mean of (B B' - I)^2, with
    a row of B for each component. It fails where `l2p` fails. The number of components grows with the tasks.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = CODAPrompt.tiny()
        >>> for task in sprites(image_size=16, factor_values=2).take(2):
        ...     learner.begin(task.for_learner())
        ...     losses = learner.learn(task.train[:8])
        >>> sorted(losses), learner.pool.keys.shape
        (['cross_entropy', 'loss', 'orthogonality'], torch.Size([4, 4, 128]))

    Reference: Smith et al. 2023, "CODA-Prompt: continual decomposed attention-based prompting",
    arXiv:2211.13218.
    """

    learning_rate: float = setting(default=0.001)
    n_blocks: int = setting(
        "number of first blocks that have prefixes, at most all blocks", default=5, ge=1, le=1000
    )
    prompt_length: int = setting("keys and values of a prefix", default=4, ge=1, le=1000)
    n_components: int = setting("components that each task adds", default=10, ge=1, le=10_000)
    orthogonality_weight: float = setting("weight of the penalty", default=0.1, ge=0, le=1e6)

    counters: ClassVar[Names] = ("n_begun",)
    tiny_settings: ClassVar = {"prompt_length": 2, "n_components": 2}
    ablations: ClassVar = {"orthogonality": {"orthogonality_weight": 0.0}}

    def setup(self) -> None:
        self.n_begun = 0
        super().setup()

    def make_pool(self) -> nn.Module:
        n_blocks = min(self.n_blocks, len(self.vit.blocks))
        return _Components(n_blocks, self.prompt_length, self.vit.n_features, self.n_components, self.seed)

    def begin(self, task: TaskView) -> None:
        if self.n_begun:
            self.pool.add_components(self.n_components)
        self.n_begun += 1
        super().begin(task)

    def losses(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        prompts, keys, attention = (
            torch.cat([each[: -self.n_components].detach(), each[-self.n_components :]])
            for each in (self.pool.prompts, self.pool.keys, self.pool.attention)
        )
        features = self.class_tokens(batch.images, prompts, keys, attention)
        penalties = [orthogonality_penalty(each) for each in (prompts.flatten(2), keys, attention)]
        terms = {
            "cross_entropy": self.cross_entropy(features, batch.labels),
            "orthogonality": torch.stack(penalties).sum(),
        }
        return terms["cross_entropy"] + self.orthogonality_weight * terms["orthogonality"], terms

    def prompted(self, images: Images) -> Tensor:
        return self.class_tokens(images, self.pool.prompts, self.pool.keys, self.pool.attention)

    def class_tokens(self, images: Images, prompts: Tensor, keys: Tensor, attention: Tensor) -> Tensor:
        """The class tokens (n, d) with weighted sums of components."""
        tokens, queries = self.backbone.tokens_and_queries(images)
        attended = queries[:, None, None] * attention  # (n, n_components, n_blocks, d)
        weights = functional.cosine_similarity(attended, keys, dim=3)
        prefixes = torch.einsum("nmb,mbpld->bnpld", weights, prompts)
        return self.vit.encode(tokens, dict(enumerate(prefixes)))[:, 0]


class _Components(GrowingPrompts):
    """Components (m, n_blocks, 2, length, d), and a key and an attention vector (m, n_blocks, d) for each."""

    def __init__(self, n_blocks: int, length: int, n_features: int, n_components: int, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.prompts = nn.Parameter(torch.zeros(0, n_blocks, 2, length, n_features))
        self.keys, self.attention = (nn.Parameter(torch.zeros(0, n_blocks, n_features)) for _ in range(2))
        self.add_components(n_components)

    def add_components(self, n: int) -> None:
        """Append n components that are orthogonal to the others, if there are dimensions left."""
        self.append(
            prompts=self._draw("prompt components", self.prompts, n),
            keys=self._draw("component keys", self.keys, n),
            attention=self._draw("component attention", self.attention, n),
        )

    def _draw(self, purpose: str, old: Tensor, n: int) -> Tensor:
        rows = old.detach().cpu().flatten(2).transpose(0, 1)  # (n_blocks, m, d)
        n_blocks, m, d = rows.shape
        numbers = rng_at(self.seed, purpose, m).normal(n_blocks * n * d)
        drawn = orthogonal_rows(rows.double(), torch.from_numpy(numbers).view(n_blocks, n, d))
        return drawn.float().transpose(0, 1).reshape(n, *old.shape[1:])


def orthogonal_rows(old: Tensor, new: Tensor) -> Tensor:
    """Unit vectors from `new` (..., n, d), orthogonal to each other and to `old` (..., m, d) if m + n <= d.

    Example:
        >>> orthogonal_rows(torch.tensor([[2.0, 0.0]]), torch.tensor([[3.0, 4.0]])).abs()
        tensor([[0., 1.]])
    """
    m, n, d = old.shape[-2], new.shape[-2], old.shape[-1]
    if m + n > d:
        return functional.normalize(new, dim=-1)
    basis = torch.linalg.qr(torch.cat([old, new], dim=-2).mT).Q
    return basis.mT[..., m:, :]


def orthogonality_penalty(rows: Tensor) -> Tensor:
    """The mean of (B B' - I)^2 over entries, summed over blocks; `rows` (m, n_blocks, d) has a B per block.

    Example:
        >>> orthogonality_penalty(torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]]))  # (0 + 0 + 0 + 9) / 4
        tensor(2.2500)
    """
    products = torch.einsum("ibd,jbd->bij", rows, rows)
    identity = torch.eye(len(rows), device=rows.device)
    return (products - identity).square().mean((1, 2)).sum()
