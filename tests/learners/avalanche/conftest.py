from collections.abc import Iterator

import pytest
import torch

from tests.streams.adapters.conftest import avalanche

__all__ = ["avalanche"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums of several threads are added up in whatever order they end, and small differences grow."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
