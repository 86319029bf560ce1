"""What the tests of the adapters share: an Avalanche that can be imported."""

import importlib.util
import warnings

import pytest


@pytest.fixture(scope="session")
def avalanche():
    """Avalanche, which needs torchvision, whose compiled part does not fit a torch without CUDA."""
    if importlib.util.find_spec("avalanche") is None:
        pytest.skip("avalanche-lib is not installed")
    from benchmarks.avalanche import import_torchvision

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, while they are imported
        import_torchvision()
        return importlib.import_module("avalanche")
