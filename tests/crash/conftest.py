import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .harness import SEED, Server

RAM_DISK = Path("/dev/shm")
NEEDED = 4 << 30


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In RAM if it is large enough, because real disks are too slow for thousands of syncs."""
    is_large = os.access(RAM_DISK, os.W_OK) and shutil.disk_usage(RAM_DISK).free > NEEDED
    with tempfile.TemporaryDirectory(dir=RAM_DISK if is_large else None) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _print_seed() -> None:
    print(f"repeat with CRASH_SEED={SEED}")
