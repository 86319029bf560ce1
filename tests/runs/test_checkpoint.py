import subprocess
from pathlib import Path

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.runs.storage import Checkpoints

RUN = "a" * 64


def kept(tmp_path: Path, n: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(tmp_path / "checkpoint", RUN)
    for number in range(1, n + 1):
        checkpoints.save(number, {"number": number, "weights": np.full(5, number)})
    return checkpoints


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    checkpoints = kept(tmp_path, 5)
    assert list(checkpoints.newest_first()) == [5, 4]
    assert checkpoints.read(5)["number"] == 5
    assert len(list(checkpoints.folder.iterdir())) == 4


def test_the_system_tool_can_verify_them(tmp_path: Path) -> None:
    folder = kept(tmp_path).folder
    checksums = sorted(path.name for path in folder.glob("*.sha256"))
    assert len(checksums) == 2
    assert subprocess.run(["sha256sum", "-c", *checksums], cwd=folder).returncode == 0


def test_what_an_interrupted_save_left_is_cleared_away(tmp_path: Path) -> None:
    checkpoints = kept(tmp_path, 2)
    (checkpoints.folder / ".00000003.safetensors.new").write_bytes(b"half")
    (checkpoints.folder / "00000001.sha256").unlink()
    (checkpoints.folder / "notes.txt").write_text("of the user")
    assert list(checkpoints.newest_first()) == [2]
    checkpoints.save(4, {})
    names = sorted(p.name for p in checkpoints.folder.iterdir())
    assert names == [
        "00000002.safetensors",
        "00000002.sha256",
        "00000004.safetensors",
        "00000004.sha256",
        "notes.txt",
    ]


def test_forgetting_leaves_only_the_newest(tmp_path: Path) -> None:
    checkpoints = kept(tmp_path)
    checkpoints.forget_older()
    assert sorted(p.name for p in checkpoints.folder.iterdir()) == ["00000003.safetensors", "00000003.sha256"]


def test_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    stranger = Checkpoints(kept(tmp_path).folder, "b" * 64)
    with pytest.raises(BadInput, match="another run"):
        stranger.read(3)


def test_a_checkpoint_in_the_wrong_place_is_refused(tmp_path: Path) -> None:
    folder = kept(tmp_path).folder
    (folder / "00000002.safetensors").replace(folder / "00000003.safetensors")
    old = (folder / "00000002.sha256").read_text()
    (folder / "00000003.sha256").write_text(old.replace("00000002", "00000003"))
    with pytest.raises(BadInput, match="another place"):
        Checkpoints(folder, RUN).read(3)


def test_a_newer_format_is_refused_naming_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.runs.storage.FORMAT", 2)
    checkpoints = kept(tmp_path)
    monkeypatch.undo()
    with pytest.raises(BadInput, match=r"format 2, this everlearn reads format 1"):
        checkpoints.read(3)


def test_data_without_any_checksum_is_not_a_beginning(tmp_path: Path) -> None:
    checkpoints = kept(tmp_path)
    for path in checkpoints.folder.glob("*.sha256"):
        path.unlink()
    with pytest.raises(BadInput, match="their checksums are gone"):
        checkpoints.newest_first()


def test_a_linked_folder_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "checkpoint").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="is a link"):
        kept(tmp_path, 1)
    assert not list((tmp_path / "elsewhere").iterdir())
