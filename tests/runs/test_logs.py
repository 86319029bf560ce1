import json
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.run_record import lines, lines_backwards
from everlearn.runs.storage import START, Log


def test_a_log_can_be_cut_back_to_a_mark(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.jsonl")
    log.append({"n": 1})
    mark = log.mark()
    log.append({"n": 2})
    after = log.mark()
    log.check(mark)
    log.rewind(mark)
    assert list(lines(log.path)) == [{"n": 1}]
    log.append({"n": 2})
    assert log.mark() == after
    log.close()


def test_another_process_can_go_on_at_a_mark(tmp_path: Path) -> None:
    first = Log(tmp_path / "a.jsonl")
    first.append({"n": 1})
    mark = first.mark()
    first.close()
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes() + b'{"torn')
    second = Log(tmp_path / "a.jsonl")
    second.check(mark)
    second.rewind(mark)
    second.append({"n": 2})
    assert list(lines(second.path)) == [{"n": 1}, {"n": 2}]
    second.close()


@pytest.mark.parametrize("damage", [b'{"n":9}\n', b"", b'{"n":1}'])
def test_a_log_that_was_changed_is_noticed(tmp_path: Path, damage: bytes) -> None:
    log = Log(tmp_path / "a.jsonl")
    log.append({"n": 1})
    log.path.write_bytes(damage)
    with pytest.raises(BadInput, match="was changed"):
        log.check(log.mark())
    log.check(START)
    log.close()


def test_a_mark_beyond_all_bounds_is_refused_at_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.jsonl")
    with pytest.raises(BadInput, match="was changed"):
        log.check({"bytes": 10**18, "sha256": "0"})
    log.close()


@pytest.mark.parametrize("n", [0, 1, 2, 5000])
@pytest.mark.parametrize("torn", [b"", b'{"half'])
def test_lines_backwards_are_lines_in_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, torn: bytes
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"".join(json.dumps({"n": i, "word": "x" * (i % 40)}).encode() + b"\n" for i in range(n)) + torn
    )
    monkeypatch.setattr("everlearn.files.CHUNK_BYTES", 37)
    assert list(lines_backwards(path)) == list(lines(path))[::-1]


def test_a_missing_log_is_an_empty_one(tmp_path: Path) -> None:
    assert list(lines(tmp_path / "none")) == list(lines_backwards(tmp_path / "none")) == []


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"{}\nnonsense\n{}\n")
    with pytest.raises(BadInput, match=r"a, line 2, is damaged"):
        list(lines(tmp_path / "a"))
