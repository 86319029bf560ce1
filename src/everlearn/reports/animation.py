"""A task's labels in motion: every factor in turn, then all together."""

from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image

from everlearn.factors import Factors
from everlearn.reports.contact_sheet import Heading, Images, sheet
from everlearn.streams.sprites import SpriteSettings
from everlearn.streams.stream import Stream

COLUMNS = 5
MAX_SHAPES = 10
TILE = 96
FINE = 3 * TILE  # moved at this size, then averaged down, so that edges stay smooth
FRAMES = 24  # of each act


def moving_portrait(
    stream: Stream, k: int, progress: Callable[[int, int, str], None] | None = None
) -> list[Image.Image]:
    """The pages of an animation in which the canonical images of a task turn, grow and wander.

    The images are the task's exemplars, drawn large where the stream can do so. They are moved as
    `Factors.matrices` says, which is how a stream moves things; one of still images moves only here.

    Args:
        stream: which stream.
        k: which of its tasks.
        progress: told `(done, total, word)` after every page.
    """
    exemplars = [_fine(image) for image in _large_exemplars(stream, k)[:MAX_SHAPES]]
    acts = list(_acts())
    pages = []
    for word, pose in acts:
        tiles = np.stack([_posed(exemplar, pose) for exemplar in exemplars])
        columns = min(COLUMNS, len(tiles))
        pages.append(sheet(tiles, columns=columns, headings=[Heading(word, columns)]))
        if progress is not None:
            progress(len(pages), len(acts), word)
    return pages


def _acts() -> Iterator[tuple[str, Factors]]:
    """What happens: a word and a pose for every frame; each act ends where it began."""
    turn = 2 * np.pi * np.arange(FRAMES) / FRAMES
    breath, sway, figure_eight = (
        0.75 + 0.25 * np.cos(turn),
        0.5 + 0.4 * np.sin(turn),
        0.5 + 0.4 * np.sin(2 * turn),
    )
    acts = {
        "angle": Factors(angle=turn),
        "scale": Factors(scale=breath),
        "x": Factors(x=sway),
        "y": Factors(y=sway),
        "all together": Factors(scale=breath, angle=turn, x=sway, y=figure_eight),
    }
    for word, poses in acts.items():
        yield from ((word, pose) for pose in poses)


def _large_exemplars(stream: Stream, k: int) -> Images:
    """The exemplars of a task, from the same stream at a larger size where it has one."""
    if isinstance(stream.spec, SpriteSettings):
        stream = type(stream.spec)(**{**stream.spec.model_dump(), "image_size": FINE}).build()
    task = stream.task(k)
    return (task.exemplars if len(task.exemplars) else task.train).images


def _fine(image: Images) -> Image.Image:
    return Image.fromarray(image).resize((FINE, FINE), Image.Resampling.BICUBIC)


def _posed(exemplar: Image.Image, pose: Factors) -> Images:
    """A canonical image as it looks in a pose, shrunk to a tile so that edges are smooth."""
    matrix = np.vstack([pose.matrices()[0], [0.0, 0.0, 1.0]])
    to_unit = np.array([[2 / FINE, 0, -1], [0, 2 / FINE, -1], [0, 0, 1]])
    back = np.linalg.inv(to_unit) @ np.linalg.inv(matrix) @ to_unit
    moved = exemplar.transform(
        exemplar.size,
        Image.Transform.AFFINE,
        tuple(back[:2].ravel()),
        Image.Resampling.BILINEAR,
        fillcolor=exemplar.getpixel((0, 0)),
    )
    return np.asarray(moved.reduce(FINE // TILE))
