"""Query sets: images to teach, and images to ask about under each condition."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.photos.archives import Pixels

PRODUCT = "everlearn"
"""The method that is `everlearn.Recogniser`."""


@dataclass(frozen=True)
class Queries:
    """Images to ask about, and their true names; None for a thing that was not taught."""

    images: Sequence[Pixels]
    names: Sequence[str | None]


@dataclass(frozen=True)
class Trial:
    """Things that are taught to an empty memory, and the queries about them by condition.

    Attributes:
        name: what was taught, for example "4 views".
        seed: number of the repetition; trials of one name are pooled.
        images: RGB or RGBA, one for each name.
        names: of the things; a name occurs once for each exemplar.
        asked: queries by condition.
    """

    name: str
    seed: int
    images: Sequence[Pixels]
    names: Sequence[str]
    asked: dict[str, Queries]


@dataclass(frozen=True)
class Answer:
    """Answer of a method about one image: the name, or None if it calls the thing unknown."""

    name: str | None
    best: str
    confidence: float


@dataclass(frozen=True)
class QuerySet:
    """A set of trials.

    Attributes:
        name: as on the command line.
        about: one sentence for the page.
        licence: of the data, as stated where it was found.
        trials: makes the trials, one after another.
        methods: the methods that apply.
        trim: whether baselines cut off plain borders, which helps where the place on the canvas is random.
        upright: whether things are always seen upright, which the product may know.
        drawn: whether things are drawn characters; the product then gets the character network.
        every: the product, which takes longest, is asked every so many queries; baselines are asked all.
    """

    name: str
    about: str
    licence: str
    trials: Callable[[], Iterator[Trial]]
    methods: tuple[str, ...]
    trim: bool = True
    upright: bool = False
    drawn: bool = False
    every: int = 1

    def asked(self, queries: Queries, method: str) -> Queries:
        """The queries that a method is asked."""
        step = self.every if method == PRODUCT else 1
        return Queries(queries.images[::step], queries.names[::step])

    @property
    def description(self) -> str:
        """The sentence for the page, and which queries the product is asked."""
        left_out = f" {PRODUCT} is asked one of {self.every} queries." if self.every > 1 else ""
        return self.about + left_out
