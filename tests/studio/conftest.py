import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from everlearn import runs

from .visits import SETTINGS, Studio, serving


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with records of a learner that remembers images, and of one that does not."""
    folder = tmp_path_factory.mktemp("kept")
    for learner, extra in (("dcl", {"learner.width": 4}), ("nearest", {})):
        spec = runs.RunSpec.make(learner=learner, settings={**SETTINGS, **extra})
        for _ in runs.record(spec, folder / learner):
            pass
    return folder


@pytest.fixture
def records(kept: Path, tmp_path: Path) -> Path:
    """A copy of these records that a test may change."""
    return Path(shutil.copytree(kept, tmp_path / "records"))


@pytest.fixture
def studio(records: Path) -> Iterator[Studio]:
    """A studio over these records, served in this process."""
    with serving(records) as studio:
        yield studio
