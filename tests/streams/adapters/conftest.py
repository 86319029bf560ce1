"""What the tests of the adapters share: an Avalanche that can be imported."""

import importlib.util
import sys
import warnings

import pytest

_declared = []  # declarations live as long as the library object that made them


@pytest.fixture(scope="session")
def avalanche():
    """Avalanche, which needs torchvision, whose compiled part does not fit a torch without CUDA."""
    if importlib.util.find_spec("avalanche") is None:
        pytest.skip("avalanche-lib is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, while they are imported
        _import_torchvision()
        return importlib.import_module("avalanche")


def _import_torchvision():
    """Import torchvision even if its operators are missing, by declaring the two it looks for.

    They are only declared: calling one still fails, as it should.
    """
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        _declare_operators()
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        importlib.import_module("torchvision")


def _declare_operators():
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
