import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from everlearn import runs
from everlearn.files import lock_holder

from .live_server import SETTINGS, Studio, serve_in_thread

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VASE_SETTINGS = {
    "stream.sequence": ["sprites", "inverted-sprites"],
    "stream.image_size": 16,
    "stream.images_per_stage": 1280,
    "learner.size": "tiny",
    "learner.n_latents": 6,
    "learner.max_environments": 3,
    "learner.cooldown": 0,
    "learner.patience": 1,
    "learner.entangled": True,  # C would grow too slowly for any latent to be learned
    "learner.beta": 0.001,
    "learner.learning_rate": 0.01,
    "learner.usage_min_kl": 0.01,
}
"""A short run that infers more than one environment."""


@pytest.fixture(scope="session")
def trained_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of a learner with exemplars and of one without; tests must not change them."""
    folder = tmp_path_factory.mktemp("trained")
    for learner, extra in (("dcl", {"learner.width": 4}), ("nearest", {})):
        train(runs.RunSpec.make(learner=learner, settings={**SETTINGS, **extra}), folder / learner)
    return folder


@pytest.fixture(scope="session")
def vase_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of VASE; tests must not change it."""
    folder = tmp_path_factory.mktemp("vase")
    train(runs.RunSpec.make(stream="environments", learner="vase", settings=VASE_SETTINGS), folder / "vase")
    return folder


def train(spec: runs.RunSpec, folder: Path) -> None:
    for _ in runs.record(spec, folder):
        pass


@pytest.fixture
def records(trained_records: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the trained records that a test may change; runs that are left over are killed."""
    folder = Path(shutil.copytree(trained_records, tmp_path / "records"))
    yield folder
    for record in folder.iterdir():
        pid = lock_holder(record)
        if pid is not None and pid != os.getpid():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def studio(records: Path) -> Iterator[Studio]:
    with serve_in_thread(records) as studio:
        yield studio


@pytest.fixture(scope="session")
def shared_studio(trained_records: Path) -> Iterator[Studio]:
    """A studio for tests that change nothing."""
    with serve_in_thread(trained_records) as studio:
        yield studio


@pytest.fixture(scope="session")
def vase_studio(vase_records: Path) -> Iterator[Studio]:
    with serve_in_thread(vase_records) as studio:
        yield studio


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from .browser import launch_chromium

    with launch_chromium() as browser:
        yield browser
