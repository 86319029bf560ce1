"""Streams of image-recognition tasks.

`sprites()`, `split_mnist()`, `environments()` and others build a `Stream` from a source (rendered shapes or
real images) and a scenario; `from_arrays()`, `from_torch()`, `from_huggingface()`, `from_folder()` and
`from_csv()` build one from a user's own images. `stream.task(k)` is a `Task` with images, labels and
ground-truth factors. Streams can be exported to files and to the datasets of other libraries.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.streams.environment_stream import EnvironmentSettings, environments
    from everlearn.streams.exports import export, load
    from everlearn.streams.from_data import from_arrays, from_csv, from_folder, from_huggingface, from_torch
    from everlearn.streams.images.benchmark_settings import (
        imagenet_r,
        permuted_mnist,
        rotated_mnist,
        split_cifar10,
        split_cifar100,
        split_fashion,
        split_mnist,
        split_tiny_imagenet,
    )
    from everlearn.streams.images.data_settings import arrays, csv, huggingface
    from everlearn.streams.images.session_settings import cifar_50, objects_50
    from everlearn.streams.images.settings import core50, fashion, folder, mnist, omniglot
    from everlearn.streams.pairs import PairSampler
    from everlearn.streams.registry import (
        REGISTRY,
        as_written,
        build,
        from_json,
        from_mapping,
        from_toml,
        names,
        settings_class,
        with_reference,
    )
    from everlearn.streams.scenario_stream import ScenarioStream
    from everlearn.streams.scenarios import ScenarioSettings
    from everlearn.streams.settings import StreamSettings
    from everlearn.streams.source import Source
    from everlearn.streams.sprite_sessions import sprites_50
    from everlearn.streams.sprite_stream import SpriteSettings, sprites
    from everlearn.streams.stream import SPLITS, Batch, Split, Stream, Task, TaskView

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
