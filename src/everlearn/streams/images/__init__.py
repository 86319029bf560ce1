"""Streams of real images: MNIST, Fashion-MNIST, Omniglot, CORe50 and folders of images.

Files are read from this machine and validated before use. Images are shown as they are or under known factors
(scale, angle, position and colour), which are then part of every batch.
"""

from everlearn.streams.images.settings import (
    Core50Settings,
    FashionSettings,
    FolderSettings,
    ImageSettings,
    MnistSettings,
    OmniglotSettings,
)

__all__ = [
    "Core50Settings",
    "FashionSettings",
    "FolderSettings",
    "ImageSettings",
    "MnistSettings",
    "OmniglotSettings",
]
