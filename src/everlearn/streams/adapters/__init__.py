"""Streams as other libraries' data sets, without files in between.

Takes any stream and the tasks that are meant.
Gives PyTorch data sets, an Avalanche benchmark or Hugging Face data sets; each library is imported only when
it is asked for.
"""

from everlearn.streams.adapters.avalanche import to_avalanche
from everlearn.streams.adapters.huggingface import to_huggingface
from everlearn.streams.adapters.torch import to_torch, to_torch_iterable, to_torch_tasks

__all__ = ["to_avalanche", "to_huggingface", "to_torch", "to_torch_iterable", "to_torch_tasks"]
