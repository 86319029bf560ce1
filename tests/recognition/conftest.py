import shutil

import pytest

from everlearn.recognition import Recogniser


@pytest.fixture
def memory(folder, tmp_path):
    """A copy of the memory of a test module, to edit."""
    shutil.copytree(folder, tmp_path / "memory")
    with Recogniser(tmp_path / "memory") as opened:
        yield opened
