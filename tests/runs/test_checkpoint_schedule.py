from itertools import pairwise

import pytest

from everlearn.runs.checkpoint_schedule import CheckpointSchedule


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def schedule(clock: Clock) -> CheckpointSchedule:
    return CheckpointSchedule(interval=60.0, max_overhead=0.02, clock=clock)


def save_times(
    *, task: float, n_tasks: int, cost: float, growth: float = 0.0, step: float = 1.0
) -> list[float]:
    """When a run of equal tasks is saved; a save costs seconds, and more the later it is."""
    clock, times = Clock(), []
    saves = schedule(clock)
    for _ in range(n_tasks):
        end = clock.now + task
        while clock.now < end:
            clock.now += min(step, end - clock.now)
            if saves.is_due(after_task=clock.now >= end):
                times.append(clock.now)
                with saves.measure_save():
                    clock.now += cost + growth * clock.now
                    end += cost + growth * clock.now
    return times


def work_between(times: list[float], cost: float) -> list[float]:
    return [later - earlier - cost for earlier, later in pairwise([-cost, *times])]


def test_every_task_is_saved_if_that_is_cheap() -> None:
    assert work_between(save_times(task=5.0, n_tasks=100, cost=0.01), 0.01) == pytest.approx([5.0] * 100)


def test_short_tasks_share_a_checkpoint() -> None:
    times = save_times(task=0.1, n_tasks=10_000, cost=0.1)
    assert 0.019 < 0.1 * len(times) / (times[-1] + 0.1) < 0.02
    assert work_between(times, 0.1)[2:] == pytest.approx([5.0] * (len(times) - 2), abs=0.3)


def test_first_task_is_saved() -> None:
    assert save_times(task=0.1, n_tasks=1, cost=1.0) == [pytest.approx(0.1)]


def test_long_start_does_not_allow_constant_saving() -> None:
    clock, times = Clock(), []
    saves = schedule(clock)
    clock.now = 1000.0
    for _ in range(1000):
        clock.now += 0.1
        if saves.is_due(after_task=True):
            times.append(clock.now)
            with saves.measure_save():
                clock.now += 0.1
    assert min(work_between(times[1:], 0.1)[1:]) >= 4.999


def test_long_tasks_are_saved_every_minute() -> None:
    between = work_between(save_times(task=1000.0, n_tasks=3, cost=0.5), 0.5)
    assert len(between) == 51
    assert max(between) == 60.0


@pytest.mark.parametrize("cost", [3.0, 30.0])
@pytest.mark.parametrize("task", [7.0, 1000.0])
def test_at_most_a_minute_is_lost_at_any_cost(task: float, cost: float) -> None:
    assert max(work_between(save_times(task=task, n_tasks=3000 // int(task), cost=cost), cost)) <= 60.0


@pytest.mark.parametrize("growth", [0.0001, 0.001])
def test_growing_cost_stays_below_the_maximum(growth: float) -> None:
    times = save_times(task=0.01, n_tasks=3000, cost=0.0, growth=growth, step=0.01)
    assert sum(growth * time for time in times) < 0.02 * times[-1]


def test_failed_save_is_due_again() -> None:
    clock = Clock()
    saves = schedule(clock)
    clock.now = 60.0
    with pytest.raises(OSError, match="full"), saves.measure_save():
        raise OSError("full")
    assert saves.is_due(after_task=False)
