"""Real images in the same clothes: MNIST, Fashion-MNIST, Omniglot and any folder of images.

Takes files that lie on this machine, checked before they are trusted, and the factors they may be shown
under. Gives streams, and sources for streams, with the ground truth of scale, turn, place and colour for
every image.
"""

from everlearn.streams.images.settings import (
    FashionSettings,
    FolderSettings,
    ImageSettings,
    MnistSettings,
    OmniglotSettings,
)

__all__ = ["FashionSettings", "FolderSettings", "ImageSettings", "MnistSettings", "OmniglotSettings"]
