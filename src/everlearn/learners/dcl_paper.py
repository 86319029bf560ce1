"""Disentangled continual learning as its paper has it: the reference for our own variant."""

from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.learners.base import Footprint, Losses, State
from everlearn.learners.old_base.recogniser import Recogniser
from everlearn.learners.old_base.recognition import Recognition, decide
from everlearn.networks import (
    BACKWARD,
    data_parallel,
    flops_per_image,
    load_module,
    load_optimizer,
    make_backbone,
    module_state,
    n_bytes,
    optimizer_state,
    seeded,
    to_tensor,
)
from everlearn.networks.pose import affine_sample, poses_from_matrices, to_images
from everlearn.streams import Batch
from everlearn.streams.stream import Images


class DCLPaper(Recogniser):
    """Regress the 2x3 matrix of an image's pose, undo it, and name the nearest exemplar, pixel by pixel.

    ResNet-18, squared error to the true matrix, bilinear sampling with border values. The paper trains five
    epochs with Adam at 0.001. Costs about fifty times as much as `dcl` for each image.

    Args:
        image_shape: (H, W) or (H, W, 3) of the images to come.
        seed: decides everything that is left to chance.
        backbone: "resnet18", or "small" for a trial.
        learning_rate: Adam's step size.
        reconstruction: weight of a second loss, the squared error between the normalised image and its
            exemplar.

    Example:
        >>> from everlearn.streams import sprites
        >>> task = sprites(image_size=16, factor_values=2).task(0)
        >>> learner = DCLPaper.tiny()
        >>> sorted(learner.learn(task.train[:8]))
        ['loss', 'pose']
        >>> learner.memory
        <ExemplarMemory: 7 images of 7 classes>

    Reference: Dziadzio et al. 2023, "Infinite dSprites for disentangled continual learning",
    arXiv:2312.16731.
    """

    supports_data_parallel = True

    def __init__(
        self,
        *,
        image_shape: tuple[int, ...] = (64, 64),
        seed: int = 0,
        backbone: str = "resnet18",
        learning_rate: float = 1e-3,
        reconstruction: float = 0.0,
    ) -> None:
        super().__init__(image_shape=image_shape, seed=seed, block=2)
        self.reconstruction = reconstruction
        self.net = data_parallel(_matrix_net(backbone, image_shape, seed))
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=learning_rate)
        self._flops_per_image = (1 + BACKWARD) * flops_per_image(self.net, image_shape)

    def learn(self, batch: Batch) -> Losses:
        """One step on the matrices of a batch."""
        if batch.factors is None:
            raise BadInput("these images come without factors; dcl-paper needs them, dcl can do without")
        self.remember_unseen(batch)
        images = self._tensor(batch.images)
        losses = self._losses(images, torch.from_numpy(batch.factors.matrices()).to(images), batch)
        loss = torch.stack(list(losses.values())).sum()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.flops += len(images) * self._flops_per_image
        self.changed()
        return {"loss": float(loss.detach()), **{name: float(x.detach()) for name, x in losses.items()}}

    @classmethod
    def tiny(cls, image_shape: tuple[int, ...] = (16, 16), seed: int = 0) -> Self:
        """One with the small backbone, for tests and doctests."""
        return cls(image_shape=image_shape, seed=seed, backbone="small")

    @torch.no_grad()
    def recognise(self, images: Images) -> Recognition:
        """The exemplar nearest to the normalised image."""
        self.net.eval()
        given = self._tensor(images)
        matrices = self.net(given).reshape(-1, 2, 3)
        rows, distances = self.lookup.nearest(to_images(affine_sample(given, matrices).cpu()), 2)
        return decide(
            self.memory.labels[rows], distances, poses_from_matrices(matrices.cpu().double()).numpy()
        )

    def strangeness(self, found: Recognition, images: Images) -> npt.NDArray[np.float64]:
        """The paper's ratio: the distance of the nearest exemplar as a share of the second nearest's."""
        return found.ratios

    def state(self) -> State:
        """Weights, optimiser, memory."""
        return {
            **super().state(),
            "net": module_state(self.net),
            "optimiser": optimizer_state(self.optimiser),
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        load_module(self.net, state["net"])
        load_optimizer(self.optimiser, state["optimiser"])

    def footprint(self) -> Footprint:
        """The bytes of the network, and of the images remembered."""
        return Footprint(weights=n_bytes(self.net), memory=self.memory.nbytes)

    def _losses(self, images: Tensor, matrices: Tensor, batch: Batch) -> dict[str, Tensor]:
        self.net.train()
        seen = self.net(images).reshape(-1, 2, 3)
        losses = {"pose": functional.mse_loss(seen, matrices)}
        if self.reconstruction:
            known = np.stack([self.memory.images_of(label)[0] for label in batch.labels.tolist()])
            error = functional.mse_loss(affine_sample(images, seen), self._tensor(known))
            losses["reconstruction"] = self.reconstruction * error
        return losses

    def _tensor(self, images: Images) -> Tensor:
        return to_tensor(images, next(self.net.parameters()).device)


def _matrix_net(name: str, image_shape: tuple[int, ...], seed: int) -> nn.Sequential:
    body = make_backbone(name, image_shape, seed)
    with seeded(seed):
        return nn.Sequential(body, nn.Linear(int(body.n_features), 6))  # type: ignore[arg-type]
