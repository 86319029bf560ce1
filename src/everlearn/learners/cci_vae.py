"""A variational autoencoder that is allowed to say ever more, and nothing against forgetting."""

from typing import Unpack

from everlearn.learners.base import Losses, State
from everlearn.learners.old_base.variational import Latents, Variational
from everlearn.streams import Batch


class CciVae(Variational):
    """Learn a few factors first and more as C rises; the past is lost when its turn is over.

    The floor that VASE is measured by: the same networks and the same loss, no environments, no mask and
    no dreams. C starts at 0 and rises on through all that comes.

    Example:
        >>> from everlearn.streams import sprites
        >>> learner = CciVae.tiny()
        >>> sorted(learner.learn(sprites(image_size=16, factor_values=2).task(0).train[:8]))
        ['capacity', 'loss', 'nats', 'reconstruction']

    Reference: Burgess et al. 2018, "Understanding disentangling in beta-VAE", arXiv:1804.03599; the
    baseline of Achille et al. 2018, arXiv:1808.06508.
    """

    def __init__(self, **latents: Unpack[Latents]) -> None:
        super().__init__(**latents)
        self.capacity = 0.0

    def learn(self, batch: Batch) -> Losses:
        """One step of the optimiser on the batch."""
        pixels = self.pixels(batch.images)
        drawn = self.draw_again(pixels, self.look(pixels), environment=0)
        loss = drawn.error + self.price(drawn, self.capacity)
        self.descend(loss, len(batch))
        self.capacity = self.raised(self.capacity, self.n_latents)
        told = {"loss": loss, "reconstruction": drawn.error, "nats": drawn.nats.sum()}
        return {name: float(x.detach()) for name, x in told.items()} | {"capacity": self.capacity}

    def state(self) -> State:
        """The networks' state and C."""
        return {**super().state(), "capacity": self.capacity}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        self.capacity = state["capacity"]
