from collections.abc import Iterator

import pytest

from .harness import SEED, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _say_the_seed() -> None:
    print(f"to draw the same again: CRASH_SEED={SEED}")
