"""The peer Avalanche 0.6, used as documented."""

import importlib
import sys
from typing import Any

import torch
from torch import nn

_declared: list[torch.library.Library] = []  # keeps the declarations alive


def replay(net: nn.Module, *, batch_size: int, memory_size: int) -> Any:
    """The Naive strategy with a replay plugin."""
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
    """Import torchvision, which Avalanche needs, even if its compiled part does not fit a CPU build of torch.

    Two operators that it registers on import are declared; calling them still fails.
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
