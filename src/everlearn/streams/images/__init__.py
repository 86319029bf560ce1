"""Streams of real images: MNIST, Fashion-MNIST, Omniglot, CORe50 and folders of images.

Files are validated before use. Images are shown as they are or under known factors.
"""

from everlearn.lazy import lazy_package
from everlearn.streams.images.settings import (
    Core50Settings,
    FashionSettings,
    FolderSettings,
    ImageSettings,
    MnistSettings,
    OmniglotSettings,
)

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
