"""Right and wrong answers as images: `python -m benchmarks.photos.examples`.

Half of the things of the set `new-user` are taught; the first wrong answers of each condition are drawn, and
as many right ones. Writes docs/images/photos-right.png and docs/images/photos-wrong.png.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.progress import track

from benchmarks.photos import new_user
from benchmarks.photos.archives import Pixels
from benchmarks.photos.product import Product
from everlearn.recognition import Answer

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SEED, N_DRAWN, COLUMNS = 0, 12, 4


@dataclass(frozen=True)
class Example:
    """A query, its true name (None if it was not taught), and the answer."""

    condition: str
    image: Pixels
    name: str | None
    answer: Answer

    @property
    def is_right(self) -> bool:
        return self.answer.name == self.name

    @property
    def title(self) -> str:
        answer = self.answer
        said = "unknown" if answer.name is None else f"{answer.status}: {answer.name}"
        truth = self.name or "not taught"
        return f"{self.condition}\nis: {truth}\nsaid: {said} ({answer.confidence:.2f})"


def main() -> None:
    """Teach, ask and draw."""
    names = list(new_user.things())
    trial = list(islice(new_user.trials(), 2))[1]  # half of the things are taught
    product = Product()
    for name, image in track(list(zip(trial.names, trial.images, strict=True)), "teach"):
        product.teach([image], [name])
    examples = [
        Example(condition, image, name if name in trial.names else None, product.recogniser.ask([image])[0])
        for condition in track(list(new_user.CONDITIONS), "ask")
        for number, name in enumerate(names)
        for image in (new_user.query(SEED, condition, number, number % new_user.POSES),)
    ]
    for is_right, file in ((True, "photos-right.png"), (False, "photos-wrong.png")):
        chosen = list(islice(_spread([each for each in examples if each.is_right == is_right]), N_DRAWN))
        _draw(chosen, product, IMAGES / file)
        print(IMAGES / file, len(chosen), "of", sum(each.is_right == is_right for each in examples))


def _spread(examples: Sequence[Example]) -> Iterator[Example]:
    """One of each condition in turn; right ones start at different things."""
    groups = [[each for each in examples if each.condition == name] for name in new_user.CONDITIONS]
    for i in range(max(map(len, groups), default=0)):
        for number, group in enumerate(groups):
            if i < len(group):
                yield group[(i + 7 * number) % len(group)]


def _draw(examples: Sequence[Example], product: Product, path: Path) -> None:
    """Each query beside the exemplar of the best class."""
    rows = -(-len(examples) // COLUMNS)
    figure = Figure(figsize=(3.4 * COLUMNS, 2.5 * rows), layout="constrained", dpi=80)
    parts = figure.subfigures(rows, COLUMNS, squeeze=False)
    for part, example in zip(parts.ravel(), examples, strict=False):
        part.suptitle(example.title, fontsize=9, x=0.02, ha="left")
        asked, stored = part.subplots(1, 2)
        asked.imshow(example.image)
        if example.answer.best:
            rgba = product.recogniser.exemplars(example.answer.best)[0].astype(np.float64)
            alpha = rgba[..., 3:] / 255
            stored.imshow((rgba[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8))
        asked.set_xlabel("asked", fontsize=8)
        stored.set_xlabel(f"stored: {example.answer.best}"[:30], fontsize=8)
        for axes in (asked, stored):
            axes.set_xticks([])
            axes.set_yticks([])
    figure.savefig(path)


if __name__ == "__main__":
    main()
