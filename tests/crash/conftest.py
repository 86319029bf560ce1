import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .harness import SEED, Server

IN_MEMORY = Path("/dev/shm")
NEEDED = 4 << 30


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where there is room: what a dying process leaves does not depend on how slow its disk is."""
    is_roomy = os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > NEEDED
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if is_roomy else None) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _say_the_seed() -> None:
    print(f"to draw the same again: CRASH_SEED={SEED}")
