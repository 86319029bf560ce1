import os
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.run_record import RecordLock


def test_the_second_is_told_who_is_first(tmp_path: Path) -> None:
    with (
        RecordLock(tmp_path),
        pytest.raises(BadInput, match=rf"is being played by process {os.getpid()} on "),
        RecordLock(tmp_path),
    ):
        pass
    with RecordLock(tmp_path):
        pass


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / ".lock").symlink_to(precious)
    with pytest.raises(BadInput, match="cannot write"), RecordLock(tmp_path):
        pass
    assert precious.read_text() == "keep me"


def n_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = n_open()
    for _ in range(3):
        with RecordLock(tmp_path), pytest.raises(BadInput), RecordLock(tmp_path):
            pass
    assert n_open() == before
