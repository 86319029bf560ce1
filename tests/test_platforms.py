"""Other systems than Linux, as far as they can be simulated here (docs/platforms.md)."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from everlearn import files

ON_WINDOWS = """
import os, signal, sys
from pathlib import Path
import numpy as np
import fastapi, uvicorn
import everlearn.runs.distributed, everlearn.studio.server  # load what they need
from everlearn import runs, streams

SETTINGS = {"stream.image_size": 16, "stream.factor_values": 2, "stream.classes_per_task": 2, "n_tasks": 2}
FOLDER = Path(sys.argv[1])

def spec():
    return runs.RunSpec.make(learner="er", settings=SETTINGS)

for _ in runs.record(spec(), FOLDER / "linux"):
    pass
expected = runs.Record(FOLDER / "linux").digest

from tests import windows
windows.hide()
from everlearn import files, memory, runs, streams
from everlearn.errors import BadInput

def refusal(call):
    try:
        call()
    except BadInput as error:
        return str(error)

folder = FOLDER / "windows"
try:
    for number, _ in enumerate(runs.record(spec(), folder)):
        if number == 5:
            signal.raise_signal(signal.SIGINT)
except runs.Stopped:
    pass
assert not runs.Record(folder).is_finished
holders = {files.lock_holder(folder) for _ in runs.resume(folder)}
assert holders == {os.getpid()}
assert runs.Record(folder).digest == expected
print("resumed")

with files.FolderLock(folder):
    print(refusal(files.FolderLock(folder).acquire).replace(str(folder), "FOLDER"))
stream = streams.sprites(image_size=16, factor_values=2)
streams.export(stream, FOLDER / "exported", to="npz", tasks=range(2))
assert streams.load(FOLDER / "exported").fingerprint() == stream.fingerprint()
with memory.OnDiskMemory.create(FOLDER / "store", image_shape=(16, 16)) as store:
    task = stream.task(0).exemplars
    store.add(task.labels, task.images)
    assert (store.search(task.images)[0].ravel() == task.labels).all()
(FOLDER / ".x.new").symlink_to(FOLDER / "elsewhere")
print(refusal(lambda: files.write(FOLDER / "x", b"")).replace(str(FOLDER), "FOLDER"))
print(refusal(runs.process_group(spec(), processes=2).__enter__))
from everlearn.studio.image_decoder import ImageDecoder
print(refusal(lambda: ImageDecoder().decode(b"")))
import everlearn.studio.server
"""


@pytest.mark.more
def test_simulated_windows(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    done = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS, tmp_path], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    resumed, locked, link, processes, upload = done.stdout.splitlines()
    assert resumed == "resumed"
    assert locked.startswith("FOLDER is open in process ")
    assert link.startswith("cannot write FOLDER/x: Too many levels of symbolic links")
    assert processes == "a run in several processes needs Linux or macOS; use one process, or WSL"
    assert upload.startswith("the studio decodes uploads in a process with limited time and memory")


def test_macos_flushes_the_cache_of_the_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda file, command: calls.append(command))
    monkeypatch.setattr(files.sys, "platform", "darwin")
    files.write(tmp_path / "a", b"x")
    assert calls == [51, 51]  # the file, then its folder


def test_macos_file_system_without_that_call_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)  # unknown here, so that it fails
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(files.sys, "platform", "darwin")
    files.write(tmp_path / "a", b"x")
    assert len(synced) == 2
