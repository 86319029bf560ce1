"""`everlearn data`, against a local server."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everlearn.streams.images import fetch, sources
from tests.file_server import FileServer, serve
from tests.golden.datasets import make_arrays, write_idx

from .outcomes import Run, assert_refused

NAMES = [file.name for file in sources.SOURCES["mnist"].files]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A mirror of a small MNIST."""
    folder = write_idx(tmp_path / "published") / "mnist"
    files = {f"/mnist/{name}": (folder / name).read_bytes() for name in NAMES}
    remote = tuple(
        sources.RemoteFile(f"http://data.example{path}", hashlib.md5(content).hexdigest())
        for path, content in files.items()
    )
    entry = sources.SOURCES["mnist"]
    monkeypatch.setitem(
        sources.SOURCES,
        "mnist",
        type(entry)(**{**vars(entry), "files": remote}),  # type: ignore[arg-type]
    )
    monkeypatch.setattr(fetch, "RETRY_SECONDS", 0)
    with serve(files) as running:
        monkeypatch.setenv("EVERLEARN_DATA_MIRROR", running.url)
        yield running


def test_fetch_continues_and_the_stream_is_found(
    server: FileServer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path / "data"))
    assert run("data", "list", "--json").data["datasets"]["mnist"]["found"] is None
    server.faults += [10, 20, "busy"]
    data = run("data", "fetch", "mnist", "--json").data
    folder = tmp_path / "data/mnist"
    assert data == {"dataset": "mnist", "folder": str(folder), "downloaded": NAMES, "unverified": []}
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    listed = run("data", "list", "--json").data
    assert (listed["folder"], listed["datasets"]["mnist"]["found"]) == (str(tmp_path / "data"), str(folder))
    assert run("stream", "fingerprint", "--stream", "split-mnist").code == 0
    assert run("data", "fetch", "mnist").out.strip() == f"mnist is already in {folder}"


def test_fetch_to_a_folder(server: FileServer, run: Run, tmp_path: Path) -> None:
    assert run("data", "fetch", "mnist", "--to", str(tmp_path / "here")).out.startswith("mnist is in ")
    assert (tmp_path / "here/mnist" / NAMES[0]).is_file()


def test_list_shows_the_files_of_each_dataset(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERLEARN_DATA", str(tmp_path))
    out = " ".join(run("data", "list").out.split())
    for name in sources.SOURCES:
        assert f"`everlearn data fetch {name}`" in out
    advice = run("data", "list", "--json").data["datasets"]["cifar100"]["advice"]
    assert "copy the files of cifar-100-python.tar.gz" in advice
    assert str(tmp_path / "cifar-100-python") in advice


def test_failures_are_sentences(
    server: FileServer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = ("--to", str(tmp_path / "data"))
    outcome = run("data", "fetch", "cifar100", *to)
    assert_refused(outcome)
    assert "otherwise copy the files of cifar-100-python.tar.gz" in outcome.err
    assert_refused(run("data", "fetch", "mnits", *to))
    monkeypatch.setenv("EVERLEARN_DATA_MIRROR", "http://127.0.0.1:9")
    outcome = run("data", "fetch", "mnist", *to)
    assert_refused(outcome)
    assert "Connection refused" in outcome.err
    monkeypatch.setenv("EVERLEARN_DATA_MIRROR", "nonsense")
    assert_refused(run("data", "fetch", "mnist", *to))
    (tmp_path / "file").touch()
    assert_refused(run("data", "fetch", "mnist", "--to", str(tmp_path / "file")))


def test_list_does_not_import_torch() -> None:
    code = "import sys; from everlearn.cli import main; main(['data', 'list']); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


IMAGES, LABELS = make_arrays("train", 16)
UNUSABLE = {
    "images[0] contains NaN": {"images": IMAGES * np.nan, "labels": LABELS},
    "labels contain -1": {"images": IMAGES, "labels": LABELS - 1},
    "lacks the array 'labels'": {"images": IMAGES},
    "label 1 has no images for training": {"images": IMAGES, "labels": LABELS * 2},
    "n_tasks is 6, but arrays/class-incremental-v1 has only 5 tasks": {"images": IMAGES, "labels": LABELS},
}


@pytest.mark.parametrize(("message", "content"), UNUSABLE.items(), ids=list(UNUSABLE))
def test_unusable_images_leave_no_record(
    message: str, content: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, **content)
    words = ("run", "--stream", "arrays", "--data", str(path), "--tasks", "6", "--learner", "nearest")
    outcome = run(*words, "--record", str(tmp_path / "record"))
    assert_refused(outcome)
    assert message in outcome.err
    assert [each.name for each in tmp_path.iterdir()] == ["mine.npz"]
