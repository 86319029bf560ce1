"""Streams of real images: the standard benchmarks, and a user's own arrays, folders, tables and datasets.

Files are validated before use. Images are shown as they are or under known factors.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.streams.images.benchmark_settings import (
        BenchmarkSettings,
        ImageNetRSettings,
        PermutedMnistSettings,
        RotatedMnistSettings,
        SplitCifar10Settings,
        SplitCifar100Settings,
        SplitFashionSettings,
        SplitMnistSettings,
        SplitTinyImageNetSettings,
    )
    from everlearn.streams.images.data_settings import ArraySettings, CsvSettings, HuggingFaceSettings
    from everlearn.streams.images.session_settings import Cifar50Settings, Objects50Settings
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
