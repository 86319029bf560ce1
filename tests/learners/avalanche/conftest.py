from tests.streams.adapters.conftest import avalanche

__all__ = ["avalanche"]
