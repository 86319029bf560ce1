import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.runs.run_files import START, Checkpoints, Log, read_log, read_log_reversed

RUN = "a" * 64


def saved(tmp_path: Path, n: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(tmp_path / "checkpoint", RUN)
    for number in range(1, n + 1):
        checkpoints.save(number, {"number": number, "weights": np.full(5, number)})
    return checkpoints


def names(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.folder.iterdir())


def test_newest_two_checkpoints_are_kept(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    assert list(checkpoints.newest_first()) == [5, 4]
    assert checkpoints.read(5)["number"] == 5
    assert len(names(checkpoints)) == 4


def test_sha256sum_verifies_checkpoints(tmp_path: Path) -> None:
    folder = saved(tmp_path).folder
    checksums = sorted(path.name for path in folder.glob("*.sha256"))
    assert len(checksums) == 2
    assert subprocess.run(["sha256sum", "-c", *checksums], cwd=folder).returncode == 0


def test_files_of_an_interrupted_save_are_deleted(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 2)
    (checkpoints.folder / ".00000003.safetensors.new").write_bytes(b"half")
    (checkpoints.folder / "00000001.sha256").unlink()
    (checkpoints.folder / "notes.txt").write_text("of the user")
    assert list(checkpoints.newest_first()) == [2]
    checkpoints.save(4, {})
    stems = ["00000002.safetensors", "00000002.sha256", "00000004.safetensors", "00000004.sha256"]
    assert names(checkpoints) == [*stems, "notes.txt"]


def test_delete_older_keeps_only_the_newest(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path)
    checkpoints.delete_older()
    assert names(checkpoints) == ["00000003.safetensors", "00000003.sha256"]


def test_checkpoint_of_another_run_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="another run"):
        Checkpoints(saved(tmp_path).folder, "b" * 64).read(3)


def test_renamed_checkpoint_is_rejected(tmp_path: Path) -> None:
    folder = saved(tmp_path).folder
    (folder / "00000002.safetensors").replace(folder / "00000003.safetensors")
    old = (folder / "00000002.sha256").read_text()
    (folder / "00000003.sha256").write_text(old.replace("00000002", "00000003"))
    with pytest.raises(BadInput, match="does not match its file name"):
        Checkpoints(folder, RUN).read(3)


def test_newer_format_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.runs.run_files.FORMAT", 2)
    checkpoints = saved(tmp_path)
    monkeypatch.undo()
    with pytest.raises(BadInput, match=r"format 2, this everlearn reads format 1"):
        checkpoints.read(3)


def test_data_without_checksums_is_not_a_new_run(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path)
    for path in checkpoints.folder.glob("*.sha256"):
        path.unlink()
    with pytest.raises(BadInput, match="their checksums are missing"):
        checkpoints.newest_first()


def test_symbolic_link_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "checkpoint").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="is a symbolic link"):
        saved(tmp_path, 1)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_log_can_be_rewound_to_a_mark(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.jsonl")
    log.append({"n": 1})
    mark = log.mark()
    log.append({"n": 2})
    after = log.mark()
    log.check(mark)
    log.rewind(mark)
    assert list(read_log(log.path)) == [{"n": 1}]
    log.append({"n": 2})
    assert log.mark() == after
    log.close()


def test_another_process_can_continue_at_a_mark(tmp_path: Path) -> None:
    first = Log(tmp_path / "a.jsonl")
    first.append({"n": 1})
    mark = first.mark()
    first.close()
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes() + b'{"torn')
    second = Log(tmp_path / "a.jsonl")
    second.check(mark)
    second.rewind(mark)
    second.append({"n": 2})
    assert list(read_log(second.path)) == [{"n": 1}, {"n": 2}]
    second.close()


@pytest.mark.parametrize("content", [b'{"n":9}\n', b"", b'{"n":1}'])
def test_changed_log_is_detected(tmp_path: Path, content: bytes) -> None:
    log = Log(tmp_path / "a.jsonl")
    log.append({"n": 1})
    log.path.write_bytes(content)
    with pytest.raises(BadInput, match="was changed"):
        log.check(log.mark())
    log.check(START)
    with pytest.raises(BadInput, match="was changed"):
        log.check({"bytes": 10**18, "sha256": "0"})
    log.close()


@pytest.mark.parametrize("n", [0, 1, 2, 5000])
@pytest.mark.parametrize("torn", [b"", b'{"half'])
def test_read_log_reversed_is_read_log_in_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, torn: bytes
) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"n": i, "word": "x" * (i % 40)}).encode() + b"\n" for i in range(n)]
    path.write_bytes(b"".join(lines) + torn)
    monkeypatch.setattr("everlearn.files.CHUNK_BYTES", 37)
    assert list(read_log_reversed(path)) == list(read_log(path))[::-1]


def test_missing_log_is_empty(tmp_path: Path) -> None:
    assert list(read_log(tmp_path / "none")) == list(read_log_reversed(tmp_path / "none")) == []


def test_error_names_the_damaged_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"{}\nnonsense\n{}\n")
    with pytest.raises(BadInput, match=r"a, line 2, is damaged"):
        list(read_log(tmp_path / "a"))
