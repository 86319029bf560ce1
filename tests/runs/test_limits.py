from pathlib import Path

import pytest
import torch

from everlearn.runs import OutOfMemory
from everlearn.runs.loop import told_of_memory

HERE = Path("records/mine")


def test_numpy_and_python_without_memory() -> None:
    said = r"memory ran out \(no room\); .*`everlearn resume records/mine`"
    with pytest.raises(OutOfMemory, match=said), told_of_memory(HERE):
        raise MemoryError("no room")


def test_torch_without_memory() -> None:
    with pytest.raises(OutOfMemory, match="memory ran out"), told_of_memory(HERE):
        torch.empty(2**50)


def test_a_convolution_without_memory() -> None:
    with pytest.raises(OutOfMemory, match="memory ran out"), told_of_memory(HERE):
        raise RuntimeError("could not create a primitive")  # what oneDNN said when it was tried


def test_other_errors_are_not_explained_away() -> None:
    with pytest.raises(RuntimeError, match="shapes differ"), told_of_memory(HERE):
        raise RuntimeError("shapes differ")
