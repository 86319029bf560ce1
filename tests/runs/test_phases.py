from contextlib import suppress
from pathlib import Path

from everlearn.runs import Record, RunSpec, record, resume
from everlearn.runs.phases import EVALUATE, PHASES, SAVE, TRAIN, PhaseClock


def test_inner_phases_are_not_counted_twice_also_after_an_error() -> None:
    now = [0.0]
    clock = PhaseClock(lambda: now[0])
    with clock(EVALUATE):
        now[0] += 1
        with suppress(ValueError), clock(SAVE):
            now[0] += 2
            raise ValueError
        with clock(SAVE):
            now[0] += 4
    with clock(TRAIN):
        now[0] += 8
    assert clock.take() == {"render": 0, "train": 8, "evaluate": 1, "save": 6}
    assert clock.take() == dict.fromkeys(PHASES, 0)


def test_phases_are_recorded_and_an_interruption_keeps_them(tmp_path: Path) -> None:
    settings = {"stream.image_size": 16, "stream.factor_values": 2, "n_tasks": 2, "batch_size": 8}
    events = record(RunSpec.make(learner="naive", settings=settings), tmp_path / "record")
    while next(events).kind != "task-ended":
        pass
    events.close()
    list(resume(tmp_path / "record"))
    rows = list(Record(tmp_path / "record").seconds())
    assert [row["task"] for row in rows] == [0, 1]
    for row in rows:
        assert set(row["phases"]) == set(PHASES)
        assert 0 < sum(row["phases"].values()) <= row["seconds"] + 0.001
        assert row["cpu"] > 0
