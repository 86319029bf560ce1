"""Streams as datasets of other libraries: PyTorch, Avalanche and Hugging Face.

Each library is imported when its adapter is first used.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.streams.adapters.avalanche import to_avalanche
    from everlearn.streams.adapters.huggingface import to_huggingface
    from everlearn.streams.adapters.torch import to_torch, to_torch_iterable, to_torch_tasks

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
