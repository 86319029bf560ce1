"""Records of every released format go on for ever, to the very result they would have had then."""

import shutil
import warnings
from pathlib import Path

import pytest

from everlearn.runs import InexactResume, Record, resume

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("record-v*/")))
def test_an_old_record_goes_on(tmp_path: Path, name: str) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / name)
    with warnings.catch_warnings():
        # Pixel matching computes in whole numbers: neither torch nor threads can change its result.
        warnings.simplefilter("ignore", InexactResume)
        *_, _last = resume(tmp_path / name)
    assert Record(tmp_path / name).digest == (GOLDEN / f"{name}.digest").read_text().strip()


def test_there_is_one_for_each_format() -> None:
    assert [path.name for path in sorted(GOLDEN.glob("record-v*/"))] == ["record-v1"]
