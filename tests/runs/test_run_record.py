import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.evaluation import average_accuracy
from everlearn.runs import Record, list_records, record
from everlearn.runs.run_record import RecordLock, check_folder, folder_name
from tests.unprivileged import only_root, unprivileged_output

from .conftest import Interrupt, finish, tiny, tree


def test_record_of_a_finished_run(tmp_path: Path) -> None:
    finish(record(tiny(), tmp_path / "run"))
    found = Record(tmp_path / "run")
    assert repr(found) == "<record run: nearest, 4 tasks>"
    assert (found.is_finished, found.n_tasks_done, found.is_exact, found.name) == (True, 4, True, "")
    assert (found.spec, found.spec_hash) == (tiny().to_mapping(), tiny().hash)
    assert [row["task"] for row in found.seconds()] == [0, 1, 2, 3]
    assert [event["event"] for event in found.events()][-1] == "run-ended"
    table = found.scores
    assert table.n_tasks == 4
    assert 0.0 <= average_accuracy(table) <= 1.0
    final = list(found.evaluations())[-1]
    accuracies = np.divide(final["n_correct"], final["n_images"])
    assert np.asarray(table)[3, final["eval_tasks"]].tolist() == accuracies.tolist()


def test_record_of_an_unfinished_run(interrupted: Interrupt) -> None:
    found = Record(interrupted(after=1))
    assert (found.is_finished, found.n_tasks_done) == (False, 2)


def test_record_of_a_run_that_has_not_started(tmp_path: Path) -> None:
    record(tiny(), tmp_path / "run")
    found = Record(tmp_path / "run")
    assert (found.is_finished, found.n_tasks_done, found.machine, len(found.scores)) == (
        False,
        0,
        {},
        0,
    )
    assert len(found.digest) == 32


def test_reading_does_not_import_torch(interrupted: Interrupt) -> None:
    code = (
        "import sys; from everlearn import runs\n"
        f"r = runs.Record({str(interrupted())!r})\n"
        "assert r.digest and len(r.scores)\n"
        "print(r.checkpoints.numbers(), len(runs.list_records(r.folder.parent)), 'torch' in sys.modules)\n"
    )
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output == "[2, 3] 1 False\n"


def test_number_of_tasks_is_read_from_the_end(
    interrupted: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (folder := interrupted()) / "events.jsonl"
    log.write_bytes(b"damaged\n" * 1_000_000 + log.read_bytes())
    monkeypatch.setattr(files, "CHUNK_BYTES", 1 << 10)
    assert Record(folder).n_tasks_done == 3


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff", '{"format": 9}'])
def test_damaged_spec_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "spec.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInput, match=r"spec.json|has format 9"):
        _ = Record(tmp_path).spec


def test_records_are_listed_by_name(interrupted: Interrupt, tmp_path: Path) -> None:
    interrupted(name="b", after=0)
    interrupted(name="a", after=0)
    (tmp_path / "other").mkdir()
    assert [found.folder.name for found in list_records(tmp_path)] == ["a", "b"]
    with pytest.raises(BadInput, match="is not a record"):
        Record(tmp_path / "other")
    with pytest.raises(BadInput, match="there is no folder"):
        list_records(tmp_path / "nowhere")


def test_lock_names_the_run(tmp_path: Path) -> None:
    message = r"is in use by process \d+ on .*; wait for it or stop it"
    with RecordLock(tmp_path), pytest.raises(BadInput, match=message), RecordLock(tmp_path):
        pass


# Names


@pytest.mark.parametrize("name", ["Größe: 2/3 ☂", "[bold]x", "x" * 200])
def test_name_is_stored_and_does_not_affect_the_run(tmp_path: Path, name: str, digest: str) -> None:
    finish(record(tiny(), tmp_path / "run", name=name))
    assert Record(tmp_path / "run").name == name
    assert Record(tmp_path / "run").digest == digest


@pytest.mark.parametrize(
    "name", ["a\0b", "a\nb", "\r", "\x1b[31m", "\x7f", "\x85", "\ud800", "\u2028", "x" * 201]
)
def test_invalid_name_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="is not a valid name"):
        record(tiny(), tmp_path / "run", name=name)
    assert list(tmp_path.iterdir()) == []


NAMES = [
    "..", "/", "/etc/passwd", "../../x", "..\\..\\x", "CON", "aux.txt", "-rf", "", "   leading", "ä",
    "a\u0308", "日本語", "\u202eabc", "👩\u200d🚀", "a" * 200, "é" * 200, "a:b*?", "$(touch x)", "%2e%2e",
    "~root", "spec.json", ".lock", "ﬁ", "½", "\u200b", "ß", "İ", "NaN",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_folder_name_is_plain(name: str, tmp_path: Path) -> None:
    folder = folder_name(name, "0123456789abcdef")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-01234567", folder)
    assert len(folder.encode()) <= 100
    assert (tmp_path / folder).resolve().parent == tmp_path.resolve()


# Folders


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "\ud800"])
def test_invalid_folder_is_rejected(path: str) -> None:
    with pytest.raises(BadInput, match="is not a valid folder"):
        check_folder(path)


def test_record_is_not_overwritten(interrupted: Interrupt) -> None:
    folder = interrupted()
    with pytest.raises(BadInput, match="already has a record; continue it with `everlearn resume"):
        record(tiny(), folder)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_tasks": 5, "stream.n_tasks": 2},
        {"stream.image_size": 512, "stream.rgb": True, "evaluation.n_images": 1_000_000},
        {"device": "cuda:99"},
    ],
)
def test_impossible_run_creates_no_file(tmp_path: Path, settings: dict) -> None:
    with pytest.raises(BadInput):
        record(tiny(**settings), tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["notes.txt", "checkpoint/x"])
def test_folder_with_other_files_is_rejected(tmp_path: Path, content: str) -> None:
    (tmp_path / content).parent.mkdir(exist_ok=True)
    (tmp_path / content).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(BadInput, match="has other files"):
        record(tiny(), tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("folder", ["file/below", "x" * 300, "dangling"])
def test_unusable_folder_is_rejected(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    with pytest.raises(BadInput):
        record(tiny(), tmp_path / folder)
    assert tree(tmp_path) == before


def test_interrupted_creation_is_completed(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".spec.json.new").write_text("half")
    (tmp_path / "name.txt").write_text("of the first attempt\n")
    with pytest.raises(BadInput, match="is not a record"):
        Record(tmp_path)
    finish(record(tiny(n_tasks=1), tmp_path, name="mine"))
    assert (Record(tmp_path).is_finished, Record(tmp_path).name) == (True, "mine")


@only_root
def test_unwritable_folder_is_rejected(tmp_path: Path) -> None:
    for path in (tmp_path, *tmp_path.parents):
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(0o755)  # others may enter, but not write
    setup = "import pathlib; from everlearn.runs.run_record import check_can_create"
    error = unprivileged_output(setup, f"check_can_create(pathlib.Path({str(tmp_path / 'run')!r}))")
    assert "is not a writable folder" in error
    assert not list(tmp_path.iterdir())
