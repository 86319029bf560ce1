"""A picture file as pixels of the shape a learner takes."""

from pathlib import Path

from everlearn.cli.reading import check_path
from everlearn.streams.batch import Images
from everlearn.streams.pictures.decode import decode, fitted


def read_picture(path: Path, shape: tuple[int, ...]) -> Images:
    """The picture, fitted into (H, W) gray or (H, W, 3) colour on black, its proportions kept."""
    return fitted(decode(check_path(path).read_bytes(), str(path)), shape)
