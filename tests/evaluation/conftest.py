from collections.abc import Iterator

import pytest

from tests.chat_server import ChatServer, chat_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with chat_server() as found:
        yield found
