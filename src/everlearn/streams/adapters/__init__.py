"""Streams as datasets of other libraries: PyTorch, Avalanche and Hugging Face.

Each library is imported when its adapter is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everlearn.streams.adapters.avalanche import to_avalanche
    from everlearn.streams.adapters.huggingface import to_huggingface
    from everlearn.streams.adapters.torch import to_torch, to_torch_iterable, to_torch_tasks

__all__ = ["to_avalanche", "to_huggingface", "to_torch", "to_torch_iterable", "to_torch_tasks"]

_MODULES = {"to_avalanche": "avalanche", "to_huggingface": "huggingface"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'torch')}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
