"""Deep generative replay (DGR)."""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from everlearn.learners.base import Losses, setting
from everlearn.learners.classifier import MAX_REPLAY, Classifier
from everlearn.learners.distillation import FrozenCopy, Teacher
from everlearn.learners.stateful import Names, Stateful
from everlearn.networks import flops_per_image, minimize
from everlearn.networks.devices import loss_values, to_like
from everlearn.networks.divergences import bernoulli_nll, kl_to_prior
from everlearn.networks.tensors import MID_GRAY
from everlearn.networks.vae import VAE, to_unit_range
from everlearn.rng import Rng, rng_at
from everlearn.streams import Batch, TaskView


class DGR(Classifier):
    """Deep generative replay.

    Two networks: a classifier, and a generator of images. From the second task on, each batch is trained
    together with samples of the generator as it was after the last task, labelled by the classifier as it was
    then. With k tasks before this one, the loss of both networks is 1 / (k + 1) times the loss on new images
    + k / (k + 1) times the loss on generated ones, so that all tasks have equal weight. The generator is a
    variational autoencoder, which is trained on the mixture too; in the paper it is a GAN. No image is
    stored. Errors of the generator and of the labels accumulate over tasks.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = DGR.tiny()
        >>> for task in sprites(image_size=16, factor_values=2, classes_per_task=3).take(2):
        ...     losses = learner.learn(task.train[:8])
        ...     learner.end(task.for_learner())
        >>> learner.generated(5, rng_at(0, "docs"))[0].shape
        torch.Size([5, 1, 16, 16])

    Reference: Shin et al. 2017, "Continual learning with deep generative replay", arXiv:1705.08690; with a
    variational autoencoder: van de Ven and Tolias 2018, arXiv:1809.10635.
    """

    replay_size: int = setting("images generated with each batch", default=64, ge=1, le=MAX_REPLAY)
    generator_size: Literal["paper", "half", "small", "tiny"] = setting(
        'channels of the generator\'s layers, as of `vase`; "paper" and "half" halve images four times, the '
        "others three times",
        default="small",
    )
    n_latents: int = setting("latents of the generator", default=64, ge=1, le=4096)
    generator_lr: float = setting("learning rate of the generator (Adam)", default=1e-3, ge=1e-9, le=1)

    parts: ClassVar[Names] = ("generator", "teacher", "old_generator")
    counters: ClassVar[Names] = ("n_ended",)
    supports_data_parallel = False
    tiny_settings: ClassVar = {"generator_size": "tiny", "n_latents": 4}

    def setup(self) -> None:
        super().setup()
        net = VAE(
            self.image_shape, size=self.generator_size, n_latents=self.n_latents, n_environments=1,
            seed=self.seed,
        )  # fmt: skip
        self.generator = Generator(net, self.generator_lr)
        self.teacher, self.old_generator = Teacher(self.net), FrozenCopy(self.generator.net)
        self.n_ended = 0
        self.generator_flops = flops_per_image(net, self.image_shape)

    def learn(self, batch: Batch) -> Losses:
        self.net.train()
        images, targets = self.tensors(batch)
        rng, share = rng_at(self.seed, "dgr samples", self.n_steps), 1 / (self.n_ended + 1)
        loss, generator_loss = self.loss(images, targets), self.generator_loss(images, rng)
        if self.n_ended:
            generated, generated_targets = self.generated(self.replay_size, rng)
            loss = share * loss + (1 - share) * self.loss(generated, generated_targets)
            generator_loss = share * generator_loss + (1 - share) * self.generator_loss(generated, rng)
        self.optimizer_step(loss)
        minimize(generator_loss, self.generator.optim)
        self.end_step()
        return loss_values({"loss": loss, "generator": generator_loss})

    @torch.no_grad()
    def generated(self, n: int, rng: Rng) -> tuple[Tensor, Tensor]:
        """Images of the old generator, and their labels by the old classifier."""
        assert self.old_generator.net is not None, "there is no generator yet"  # noqa: S101
        self.count_flops(n, self.forward_flops + self.generator_flops / 2, backward=False)
        decoder = self.old_generator.net.decoder
        images = decode(decoder, self.noise(n, rng)).sigmoid().contiguous() - MID_GRAY
        return images, self.teacher(images).argmax(1)

    def generator_loss(self, images: Tensor, rng: Rng) -> Tensor:
        """Negative log-likelihood of the pixels + KL divergence of the latents, per image."""
        self.count_flops(len(images), self.generator_flops)
        pixels = to_unit_range(images)
        mean, log_variance, _ = self.generator.net.encoder(pixels)
        latents = mean + (0.5 * log_variance).exp() * self.noise(len(images), rng)
        logits = decode(self.generator.net.decoder, latents)
        return (bernoulli_nll(logits, pixels) + kl_to_prior(mean, log_variance).sum(1)).mean()

    def end(self, task: TaskView) -> None:
        self.n_ended += 1
        self.teacher.update()
        self.old_generator.update()

    def noise(self, n: int, rng: Rng) -> Tensor:
        """Standard normal latents (n, n_latents)."""
        return to_like(rng.normal(n * self.n_latents), self.net.head.weight).view(n, -1)


class Generator(Stateful):
    """A variational autoencoder and its optimizer.

    Args:
        net: the autoencoder.
        learning_rate: that of Adam.
    """

    parts: ClassVar[Names] = ("net", "optim")

    def __init__(self, net: VAE, learning_rate: float) -> None:
        self.net, self.learning_rate = net, learning_rate
        self.optim = self.make_optimizer()

    def make_optimizer(self) -> torch.optim.Optimizer:
        """A new optimizer of the autoencoder."""
        return torch.optim.Adam(self.net.parameters(), lr=self.learning_rate, foreach=True)


def decode(decoder: torch.nn.Module, latents: Tensor) -> Tensor:
    """Pixel logits (n, C, H, W) of latents, in the only environment."""
    logits: Tensor = decoder(latents, torch.zeros(len(latents), dtype=torch.long, device=latents.device))
    return logits
