"""Real images in the same clothes: MNIST, Fashion-MNIST, Omniglot and any folder of pictures.

Takes files that lie on this machine, checked before they are trusted, and the factors they may be shown
under. Gives sources that streams draw their tasks from, with the ground truth of scale, turn, place and
colour for every picture.
"""

from everlearn.streams.pictures.collection import Collection
from everlearn.streams.pictures.drawings import Drawings, show
from everlearn.streams.pictures.folder import folder
from everlearn.streams.pictures.labelled import fashion, mnist
from everlearn.streams.pictures.omniglot import omniglot
from everlearn.streams.pictures.source import Canvas, ManyDrawings, OneDrawing, PictureSource, Shares

__all__ = [
    "Canvas",
    "Collection",
    "Drawings",
    "ManyDrawings",
    "OneDrawing",
    "PictureSource",
    "Shares",
    "fashion",
    "folder",
    "mnist",
    "omniglot",
    "show",
]
