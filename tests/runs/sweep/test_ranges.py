import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.runs.sweep.sweep import RandomSettings, Range, draw

SHARES = st.floats(0, 1, exclude_max=True)


def test_draws_are_the_same_for_ever() -> None:
    rate = Range(low=1e-4, high=1e-1, log=True)
    assert [draw(0, "learner.learning_rate", n, rate) for n in range(3)] == [0.009434, 0.004077, 0.01758]
    assert [draw(7, "epochs", n, Range(low=1, high=10)) for n in range(6)] == [7, 5, 10, 3, 10, 4]


def test_one_setting_does_not_change_what_another_is_drawn_as() -> None:
    few = RandomSettings.read({"draws": 3, "epochs": [1, 2, 3, 4]})
    many = RandomSettings.read({"draws": 5, "batch_size": [16, 32], "epochs": [1, 2, 3, 4]})
    assert [each["epochs"] for each in few.drawn()] == [each["epochs"] for each in many.drawn()][:3]
    other = RandomSettings.read({"draws": 50, "seed": 1, "epochs": [1, 2, 3, 4]})
    same = RandomSettings.read({"draws": 50, "epochs": [1, 2, 3, 4]})
    assert other.drawn() != same.drawn()


def test_nothing_to_draw_is_one_way_to_draw_it() -> None:
    assert RandomSettings.read({"draws": 5}).drawn() == [{}]


@settings(deadline=None)
@given(SHARES, st.integers(-1000, 1000), st.integers(0, 1000), st.booleans())
def test_whole_ends_give_whole_numbers_between_them(share: float, low: int, more: int, log: bool) -> None:
    low = max(1, low) if log else low
    value = Range(low=low, high=low + more, log=log).at(share)
    assert isinstance(value, int)
    assert low <= value <= low + more


@settings(deadline=None)
@given(SHARES, st.floats(1e-6, 1e3), st.floats(1, 1e6), st.booleans())
def test_numbers_stay_between_the_ends(share: float, low: float, factor: float, log: bool) -> None:
    assert low <= Range(low=low, high=low * factor, log=log).at(share) <= low * factor


def test_both_ends_of_whole_numbers_are_as_likely_as_the_others() -> None:
    counted = [draw(0, "x", n, Range(low=1, high=4)) for n in range(4000)]
    assert all(abs(counted.count(value) - 1000) < 150 for value in (1, 2, 3, 4))


def test_log_gives_each_power_of_ten_its_share() -> None:
    drawn = [draw(0, "x", n, Range(low=1e-3, high=1e0, log=True)) for n in range(3000)]
    assert abs(sum(value < 1e-2 for value in drawn) - 1000) < 150


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"draws": 0}, "draws is 0; it must be at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"epochs": 3}, "random.epochs is 3; give a list of values, or"),
        ({"epochs": []}, r"random.epochs is \[\]; give a list"),
        ({"epochs": {"low": 1}}, "random.epochs is {'low': 1}; give a list"),
        ({"epochs": {"low": 1, "high": 2, "step": 1}}, "give a list of values, or { low = 1, high = 10 }"),
        (
            {"epochs": {"low": 3, "high": 2}},
            "random.epochs: low is 3 and high is 2; low must not be the larger",
        ),
        (
            {"epochs": {"low": 0, "high": 2, "log": True}},
            "random.epochs: low is 0; with log it must be above 0",
        ),
        ({"epochs": {"low": "a", "high": 2}}, "random.epochs: low is 'a'; it must be a"),
    ],
)
def test_what_cannot_be_drawn_is_refused(table: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        RandomSettings.read(table)
