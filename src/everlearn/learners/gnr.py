"""Generative negative replay: made-up memories only say what a new thing is not."""

from typing import ClassVar, Self, Unpack

import torch

from everlearn.errors import check_range, unknown
from everlearn.learners.old_base.generated import Eyes, GeneratedPatterns, Practice
from everlearn.learners.old_base.latent_replay import LatentReplay, Replaying
from everlearn.learners.old_base.patterns import KeptPatterns, PatternSource, RandomPatterns
from everlearn.networks.generator import Generator

SOURCES = ("generated", "real", "random", "none")


class GNR(LatentReplay):
    """Learn new classes beside generated patterns of old ones, which do not touch what is known of the old.

    A generator that learns from task to task copies its own copies, and they wear out. As positive examples
    they then spoil the classes they stand for; as negative ones they still keep new classes from claiming
    everything, which matters most where a task has few classes. Source and role are settings: the paper's
    PR-OD is real and positive, PR-GD generated and positive, NR-OD, NR-GD and NR-RD are real, generated and
    random, and negative.

    The generator is a conditional variational autoencoder of the activations below the upper layers, which
    it sees through these layers. It learns when a task ends, while the classifier rests; this is not
    interrupted.

    Args:
        source: what is replayed: "generated" patterns, "real" ones that were kept, "random" ones, or "none".
        generator_width: units of the generator's layers; a narrow one makes poor patterns.
        code_size: numbers in a code of the generator.
        generator_rate: the step size of the generator, which has an Adam of its own.
        generator_epochs: passes of the generator over the patterns of a task.
        generator_batch: patterns of a step of the generator, new and replayed.
        generator_replay: of these, so many are its own.
        beta: weight of the codes' divergence from a standard normal distribution.
        eta: weight of the classifier's loss on generated patterns.
        wear: share of each generated pattern's activations that are exchanged for those of other patterns, of
            whatever class; a dial from patterns as they come (0) to such as say nothing of their class (1).

    Example:
        >>> GNR.tiny().supervision
        'labelled images'
        >>> GNR(source="real", role="positive", image_shape=(16, 16)).supervision
        'labelled images, past patterns'

    Reference: "Generative negative replay for continual learning", 2021, under review at ICLR 2022.
    """

    ablations: ClassVar = {
        "negative role": {"role": "positive"},
        "replay": {"source": "none"},
        "learned generator": {"source": "random"},
        "merging rows": {"form": "standalone"},
        "classifier's loss": {"eta": 0.0},
    }

    def __init__(
        self,
        *,
        source: str = "generated",
        generator_width: int = 256,
        code_size: int = 100,
        generator_rate: float = 2e-3,
        generator_epochs: int = 4,
        generator_batch: int = 128,
        generator_replay: int = 64,
        beta: float = 0.1,
        eta: float = 0.01,
        wear: float = 0.0,
        **shared: Unpack[Replaying],
    ) -> None:
        if source not in SOURCES:
            raise unknown("source", source, SOURCES)
        check_range("generator_width", generator_width, 1, 65_536)
        check_range("code_size", code_size, 1, 65_536)
        self.source, self.generator_size = source, (generator_width, code_size)
        self.practice = Practice(
            rate=generator_rate,
            epochs=generator_epochs,
            batch=generator_batch,
            replay=generator_replay,
            beta=beta,
            eta=eta,
            wear=wear,
            slowing=shared.get("slowing", 0.0),
        )
        super().__init__(**shared)
        if source == "real":
            self.supervision += ", past patterns"

    def make_source(self) -> PatternSource | None:
        """Where old patterns come from."""
        match self.source:
            case "generated":
                return self._dreamed()
            case "real":
                return KeptPatterns(memory_size=self.memory_size, seed=self.seed)
            case "random":
                return RandomPatterns(
                    shape=self.pattern_shape(), memory_size=self.memory_size, seed=self.seed
                )
            case _:
                return None

    def pattern_shape(self) -> tuple[int, ...]:
        """Of one pattern."""
        height, width, *colours = self.image_shape
        with torch.no_grad(), self._device:
            blank = torch.zeros(1, *(colours or [1]), height, width)
            return tuple(self.halves[0].eval()(blank).shape[1:])

    @classmethod
    def tiny(cls, image_shape: tuple[int, ...] = (16, 16), seed: int = 0) -> Self:
        """One with a small generator and few patterns, for tests and doctests."""
        return cls(
            image_shape=image_shape,
            seed=seed,
            generator_width=8,
            code_size=4,
            generator_epochs=1,
            memory_size=8,
            replay_size=4,
        )

    def _dreamed(self) -> GeneratedPatterns:
        width, code_size = self.generator_size
        with self._device:
            generator = Generator(
                n_features=self.head.weight.shape[1],
                shape=self.pattern_shape(),
                width=width,
                code_size=code_size,
                seed=self.seed,
            )
        return GeneratedPatterns(
            generator=generator,
            eyes=Eyes(self.features_of, self.known_outputs, self._flops_above),
            practice=self.practice,
            memory_size=self.memory_size,
            seed=self.seed,
        )
