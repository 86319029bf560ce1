"""Animation of the classes of a task: each factor in turn, then all factors."""

from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image

from everlearn.factors import Factors
from everlearn.reports.image_sheets import Heading, image_sheet
from everlearn.streams.sprite_stream import SpriteSettings
from everlearn.streams.stream import Images, Stream

COLUMNS = 5
MAX_SHAPES = 10
TILE_SIZE = 96
FINE_SIZE = 3 * TILE_SIZE
"""Size at which images are transformed before they are averaged down."""
N_FRAMES = 24
"""Frames per factor."""


def factor_animation(
    stream: Stream, k: int, progress: Callable[[int, int, str], None] | None = None
) -> list[Image.Image]:
    """The frames of an animation in which the exemplars of a task are transformed by each factor.

    Exemplars are rendered large if the stream can do so. Images of streams without motion are transformed as
    well. `progress` is called with (done, total, factor) after every frame.

    Example:
        >>> from everlearn.streams import sprites
        >>> frames = factor_animation(sprites(classes_per_task=1), 0)
        >>> len(frames), frames[0].size
        (120, (128, 152))
    """
    exemplars = _large_exemplars(stream, k)
    poses = list(_poses())
    frames = []
    for name, pose in poses:
        tiles = np.stack([_transform(exemplar, pose) for exemplar in exemplars])
        columns = min(COLUMNS, len(tiles))
        frames.append(image_sheet(tiles, columns=columns, headings=[Heading(name, columns)]))
        if progress is not None:
            progress(len(frames), len(poses), name)
    return frames


def _poses() -> Iterator[tuple[str, Factors]]:
    """The varying factor and the pose of every frame; each factor returns to its first value."""
    angle = 2 * np.pi * np.arange(N_FRAMES) / N_FRAMES
    scale, position = 0.75 + 0.25 * np.cos(angle), 0.5 + 0.4 * np.sin(angle)
    poses = {
        "angle": Factors(angle=angle),
        "scale": Factors(scale=scale),
        "x": Factors(x=position),
        "y": Factors(y=position),
        "all factors": Factors(scale=scale, angle=angle, x=position, y=0.5 + 0.4 * np.sin(2 * angle)),
    }
    for name, frames in poses.items():
        yield from ((name, pose) for pose in frames)


def _large_exemplars(stream: Stream, k: int) -> list[Image.Image]:
    """The first exemplars of a task, rendered larger if possible."""
    if isinstance(stream.spec, SpriteSettings):
        stream = type(stream.spec)(**{**stream.spec.model_dump(), "image_size": FINE_SIZE}).build()
    task, size = stream.task(k), (FINE_SIZE, FINE_SIZE)
    images = (task.exemplars if len(task.exemplars) else task.train).images[:MAX_SHAPES]
    return [Image.fromarray(image).resize(size, Image.Resampling.BICUBIC) for image in images]


def _transform(exemplar: Image.Image, pose: Factors) -> Images:
    """A canonical image in a pose, averaged down for smooth edges."""
    matrix = np.vstack([pose.matrices()[0], [0.0, 0.0, 1.0]])
    to_unit = np.array([[2 / FINE_SIZE, 0, -1], [0, 2 / FINE_SIZE, -1], [0, 0, 1]])
    back = np.linalg.inv(to_unit) @ np.linalg.inv(matrix) @ to_unit
    moved = exemplar.transform(
        exemplar.size,
        Image.Transform.AFFINE,
        tuple(back[:2].ravel()),
        Image.Resampling.BILINEAR,
        fillcolor=exemplar.getpixel((0, 0)),
    )
    return np.asarray(moved.reduce(FINE_SIZE // TILE_SIZE))
