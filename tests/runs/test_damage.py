"""A record whose files were damaged, cut, swapped or taken away."""

import random
import shutil
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import DamagedCheckpoint, Record, record, resume
from everlearn.runs.events import Learned
from everlearn.runs.storage import Checkpoints

from .conftest import BreakOff, finish, tiny, tree


def damage(path: Path, chance: random.Random) -> None:
    """Flip one bit."""
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def newest_files(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoint").glob("00000003.*"))


def readable(folder: Path) -> list[int]:
    """The checkpoints that are not refused."""
    checkpoints = Record(folder).checkpoints
    return [number for number in checkpoints.newest_first() if can_be_read(checkpoints, number)]


def can_be_read(checkpoints: Checkpoints, number: int) -> bool:
    try:
        return bool(checkpoints.read(number))
    except BadInput:
        return False


def test_the_newest_two_can_be_read_if_nothing_is_wrong(break_off: BreakOff) -> None:
    assert readable(break_off()) == [3, 2]


def test_a_thousand_flipped_bits_are_noticed(break_off: BreakOff) -> None:
    folder, chance = break_off(), random.Random(0)
    for _ in range(1000):
        path = chance.choice(newest_files(folder))
        good = path.read_bytes()
        damage(path, chance)
        assert readable(folder) == [2]
        path.write_bytes(good)


def test_two_hundred_cuts_are_noticed(break_off: BreakOff) -> None:
    folder, chance = break_off(), random.Random(0)
    for _ in range(200):
        path = chance.choice(newest_files(folder))
        good = path.read_bytes()
        path.write_bytes(good[: chance.randrange(len(good))])
        assert readable(folder) == [2]
        path.write_bytes(good)


def test_twenty_swaps_with_another_run_are_noticed(break_off: BreakOff) -> None:
    folder = break_off()
    for seed in range(1, 21):
        other = break_off(tiny(seed=seed), name=f"other{seed}")
        for path in newest_files(folder):
            shutil.copy(other / "checkpoint" / path.name, path)
        assert readable(folder) == [2]
        shutil.rmtree(other)


@pytest.mark.parametrize("seed", range(5))
def test_after_damage_the_run_goes_on_from_the_one_before_with_a_word(
    break_off: BreakOff, digest: str, seed: int
) -> None:
    folder = break_off()
    damage(newest_files(folder)[seed % 2], random.Random(seed))
    with pytest.warns(DamagedCheckpoint, match=r"checkpoint 3: .*; used 2"):
        finish(resume(folder))
    assert Record(folder).digest == digest


def test_a_log_damaged_after_the_older_checkpoint_costs_only_the_newest(
    break_off: BreakOff, digest: str
) -> None:
    folder = break_off()
    log = folder / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-5])
    with pytest.warns(DamagedCheckpoint, match=r"events.jsonl was changed"):
        finish(resume(folder))
    assert Record(folder).digest == digest


def test_if_all_is_damaged_nothing_starts_from_zero(break_off: BreakOff) -> None:
    folder = break_off()
    for path in (folder / "checkpoint").glob("*.safetensors"):
        damage(path, random.Random(1))
    before = tree(folder)
    with pytest.raises(BadInput, match=r"none of the checkpoints .* can be used"):
        finish(resume(folder))
    assert {**tree(folder), ".lock": b""} == {**before, ".lock": b""}


def test_if_the_checkpoints_are_gone_nothing_starts_from_zero(break_off: BreakOff) -> None:
    folder = break_off()
    shutil.rmtree(folder / "checkpoint")
    with pytest.raises(BadInput, match="missing, though 3 tasks were played"):
        finish(resume(folder))


def test_a_run_without_any_checkpoint_yet_begins_again(tmp_path: Path, digest: str) -> None:
    story = record(tiny(), tmp_path / "run")
    while not isinstance(next(story), Learned):
        pass
    story.close()  # type: ignore[attr-defined]
    finish(resume(tmp_path / "run"))
    assert Record(tmp_path / "run").digest == digest
