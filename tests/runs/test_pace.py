from itertools import pairwise

import pytest

from everlearn.runs.recorder import Pace


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def play(*, task: float, n_tasks: int, saving: float, growth: float = 0.0, step: float = 1.0) -> list[float]:
    """The moments at which a run of even tasks is saved, each save taking some seconds, later ones more."""
    clock, moments = Clock(), []
    pace = Pace(interval=60.0, share=0.02, clock=clock)
    for _ in range(n_tasks):
        end = clock.now + task
        while clock.now < end:
            clock.now += min(step, end - clock.now)
            if pace.is_time(after_task=clock.now >= end):
                moments.append(clock.now)
                with pace.saving():
                    clock.now += saving + growth * clock.now
                    end += saving + growth * clock.now
    return moments


def work_between(moments: list[float], saving: float) -> list[float]:
    return [later - earlier - saving for earlier, later in pairwise([-saving, *moments])]


def test_every_task_is_saved_where_that_is_cheap() -> None:
    assert work_between(play(task=5.0, n_tasks=100, saving=0.01), 0.01) == pytest.approx([5.0] * 100)


def test_short_tasks_share_a_checkpoint() -> None:
    moments = play(task=0.1, n_tasks=10_000, saving=0.1)
    assert 0.019 < 0.1 * len(moments) / (moments[-1] + 0.1) < 0.02
    assert work_between(moments, 0.1)[2:] == pytest.approx([5.0] * (len(moments) - 2), abs=0.3)


def test_the_first_task_is_saved_at_once() -> None:
    assert play(task=0.1, n_tasks=1, saving=1.0) == [pytest.approx(0.1)]


def test_a_long_beginning_is_no_licence_to_do_nothing_but_save() -> None:
    clock, moments = Clock(), []
    pace = Pace(interval=60.0, share=0.02, clock=clock)
    clock.now = 1000.0
    for _ in range(1000):
        clock.now += 0.1
        if pace.is_time(after_task=True):
            moments.append(clock.now)
            with pace.saving():
                clock.now += 0.1
    assert min(work_between(moments[1:], 0.1)[1:]) >= 4.999


def test_inside_long_tasks_every_minute_is_saved() -> None:
    between = work_between(play(task=1000.0, n_tasks=3, saving=0.5), 0.5)
    assert len(between) == 51
    assert max(between) == 60.0


@pytest.mark.parametrize("saving", [3.0, 30.0])
def test_no_more_than_a_minute_is_lost_whatever_saving_costs(saving: float) -> None:
    for task in (7.0, 1000.0):
        between = work_between(play(task=task, n_tasks=3000 // int(task), saving=saving), saving)
        assert max(between) <= 60.0


@pytest.mark.parametrize("growth", [0.0001, 0.001])
def test_saving_that_takes_ever_longer_stays_cheap(growth: float) -> None:
    moments = play(task=0.01, n_tasks=3000, saving=0.0, growth=growth, step=0.01)
    assert sum(growth * moment for moment in moments) < 0.02 * moments[-1]


def test_a_save_that_failed_is_tried_again() -> None:
    clock = Clock()
    pace = Pace(interval=60.0, share=0.02, clock=clock)
    clock.now = 60.0
    with pytest.raises(OSError, match="full"), pace.saving():
        raise OSError("full")
    assert pace.is_time(after_task=False)
