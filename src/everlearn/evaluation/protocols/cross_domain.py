"""One environment's images, drawn as another shows them: what is kept, and does it look at home there?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from everlearn.errors import check_range
from everlearn.evaluation.image_oracle import Judge, places_of
from everlearn.evaluation.protocols.base import MAX_IMAGES, Situates, situated
from everlearn.evaluation.protocols.environments import Scene, View, several_views
from everlearn.evaluation.protocols.traversal import images, tiled
from everlearn.learners import Learner
from everlearn.serialization import image_to_json
from everlearn.streams import Batch, Stream
from everlearn.streams.stream import Images

SHOWN = 6
"""Images of each environment that are kept as they were drawn."""
FEWEST = 16
"""Images from which on there is something to judge by."""


@dataclass(frozen=True)
class Judged:
    """What a judge says of images, who has seen real images of the environment asked about.

    Attributes:
        there: share of images that look like ones of that environment.
        off: how far things are from where they should be, along a side: the root of the mean square, in
            half widths of an image. None where nothing moves.
        kept: share of images whose object is still known. None where other objects are shown.
    """

    there: float
    off: float | None
    kept: float | None


@dataclass(frozen=True, eq=False)
class Translation:
    """Every environment's images in every environment.

    Attributes:
        names: the environments, as the stream calls them.
        environments: what the learner takes each for.
        judges: what the judge says of real images of each, which drawings can hardly be better than.
        still: how far off things of each would be if they were drawn in the middle of where they go.
        outcomes: what the judge says of images of the one (row) as the other (column) shows them.
        drawn: of each environment some images, and below them how they look in each, as one image.
    """

    names: tuple[str, ...]
    environments: tuple[int, ...]
    judges: tuple[Judged, ...]
    still: tuple[float, ...]
    outcomes: tuple[tuple[Judged, ...], ...]
    drawn: tuple[Images, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; images are packed."""
        return {
            "names": self.names,
            "environments": self.environments,
            "judges": [asdict(each) for each in self.judges],
            "still": self.still,
            "outcomes": [[asdict(each) for each in row] for row in self.outcomes],
            "drawn": [image_to_json(each) for each in self.drawn],
        }


def translation(
    learner: Learner, stream: Stream, n_tasks: int, *, size: int = 500, batches: Sequence[int] = ()
) -> Translation:
    """Describe images of each environment, and draw what was described as every environment shows it.

    With a the masks of both, what is drawn is a_B * a_A * mean: what the one says and the other understands.
    The judge looks at images, not at latents, and has seen real ones only.

    Args:
        learner: one that tells environments apart.
        stream: what it met, at least two environments.
        n_tasks: how many tasks of the stream the learner met.
        size: images of each environment; the judge has seen up to three times as many others.
        batches: how many it learned in each task, which tells the environments where it learned them.
    """
    artist = situated(learner)
    check_range("size", size, FEWEST, MAX_IMAGES)
    seen = several_views(artist, stream, n_tasks, size, batches)
    drawn = [[_translated(artist, view, other) for other in seen] for view in seen]
    judge = Judge([view.scene.lesson for view in seen])
    outcomes = [
        [_judged(judge, replace(view.scene.test, images=images), k) for k, images in enumerate(row)]
        for view, row in zip(seen, drawn, strict=True)
    ]
    return Translation(
        names=tuple(view.scene.name for view in seen),
        environments=tuple(view.environment for view in seen),
        judges=tuple(_judged(judge, view.scene.test, k) for k, view in enumerate(seen)),
        still=tuple(_spread(view.scene) for view in seen),
        outcomes=tuple(map(tuple, outcomes)),
        drawn=tuple(
            _side_by_side([view.scene.test.images, *row]) for view, row in zip(seen, drawn, strict=True)
        ),
    )


def _judged(judge: Judge, batch: Batch, scene: int) -> Judged:
    """What is said of images that should look like a scene, and show what their truth says."""
    off = kept = None
    if judge.moves(scene):
        off = float(np.sqrt(((judge.places(batch.images, scene) - places_of(batch)) ** 2).mean()))
    if len(judge.known(scene)) > 1 and judge.known(scene).issuperset(batch.labels.tolist()):
        kept = float((judge.labels(batch.images, scene) == batch.labels).mean())
    return Judged(float((judge.scenes(batch.images) == scene).mean()), off, kept)


def _translated(artist: Situates, view: View, other: View) -> Images:
    return images(artist, view.mean * other.open, other.environment)


def _side_by_side(rows: list[Images]) -> Images:
    """A few of the images, of different classes since these come in order, and what became of them."""
    some = np.linspace(0, len(rows[0]) - 1, SHOWN).astype(int)
    return tiled([images[some] for images in rows])


def _spread(scene: Scene) -> float:
    """The root of the mean square distance from the middle, along a side."""
    return float(np.sqrt(places_of(scene.test).var(axis=0).mean()))
