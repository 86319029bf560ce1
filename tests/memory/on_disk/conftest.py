from tests.crash.conftest import tmp_path

__all__ = ["tmp_path"]
