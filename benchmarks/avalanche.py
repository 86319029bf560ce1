"""The other peer: Avalanche 0.6, as its users call it."""

import importlib
import sys
from typing import Any

import torch
from torch import nn

_declared: list[torch.library.Library] = []  # declarations live as long as the object that made them


def replay(net: nn.Module, *, batch_size: int, memory_size: int) -> Any:
    """A plain strategy with a replay memory, as its documentation builds one."""
    import_torchvision()
    from avalanche.training import Naive
    from avalanche.training.plugins import ReplayPlugin

    return Naive(
        model=net,
        optimizer=torch.optim.Adam(net.parameters(), lr=1e-3),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=batch_size,
        evaluator=None,
        plugins=[ReplayPlugin(mem_size=memory_size)],
    )


def import_torchvision() -> None:
    """Import torchvision, which Avalanche needs, even if its compiled part does not fit a torch without CUDA.

    Two of its operators are declared, which it looks for when imported and nobody here calls; calling one
    still fails, as it should.
    """
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]  # torch
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")  # type: ignore[no-untyped-call]
        _declared.append(library)
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        importlib.import_module("torchvision")
