import os
from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Path:
    """The folder of real datasets; skips the test if there is none."""
    folder = os.environ.get("EVERLEARN_DATA")
    if not folder or not (Path(folder) / "mnist").is_dir():
        pytest.skip("EVERLEARN_DATA is not a folder with mnist, fashion-mnist and omniglot")
    return Path(folder)


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No folder of datasets is set, and there is none at the default place."""
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
