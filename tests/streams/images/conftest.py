import os
from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets, or a skip."""
    named = os.environ.get("EVERLEARN_DATA")
    if not named or not (Path(named) / "mnist").is_dir():
        pytest.skip("EVERLEARN_DATA does not name a folder with mnist, fashion-mnist and omniglot")
    return Path(named)


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where nobody set EVERLEARN_DATA."""
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
