from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.runs.sweep import Sweep
from everlearn.runs.sweep.sweep import RandomSearch, Range, sample

ER: dict[str, Any] = {"learners": ["er"]}
FRACTIONS = st.floats(0, 1, exclude_max=True)


def values(sweep: Sweep, *names: str) -> list[tuple[Any, ...]]:
    """The values of some settings in every run."""
    return [
        tuple(_value(spec.to_mapping(), *name.partition(".")) for name in names) for spec in sweep.specs()
    ]


def _value(spec: Mapping[str, Any], part: str, dot: str, field: str) -> Any:
    if part == "learner" and field != "name":
        return spec["learner"]["settings"].get(field)
    return spec[part][field] if field else spec[part]


def test_all_combinations_sorted_by_seed() -> None:
    sweep = Sweep(learners=["naive", "er"], streams=["sprites", "mnist"], seeds=[3, 5])
    assert values(sweep, "seed", "stream.seed", "stream.stream", "learner.name") == [
        (seed, seed, stream, learner)
        for seed in (3, 5)
        for stream in ("sprites", "mnist")
        for learner in ("naive", "er")
    ]


def test_grid_and_variants() -> None:
    sweep = Sweep(
        **ER,
        settings={"n_tasks": 3},
        grid={"epochs": [1, 2], "stream": {"image_size": [16, 32]}},
        variants=[{"batch_size": 8, "learner": {"replay_size": 8}}, {"batch_size": 64}],
    )
    names = ("n_tasks", "epochs", "stream.image_size", "batch_size", "learner.replay_size")
    assert values(sweep, *names) == [
        (3, epochs, size, batch, replay)
        for epochs in (1, 2)
        for size in (16, 32)
        for batch, replay in ((8, 8), (64, 64))
    ]


def test_dotted_names_and_tables_are_equal() -> None:
    table, dotted = {"stream": {"image_size": 16}}, {"stream.image_size": 16}
    assert Sweep(**ER, settings=table).specs() == Sweep(**ER, settings=dotted).specs()


def test_setting_applies_to_learners_and_streams_that_have_it() -> None:
    sweep = Sweep(
        learners=["naive", "er"],
        streams=["sprites", "mnist"],
        grid={"learner.memory_size": [5, 6], "stream.vertices": [[5, 8], [6, 7]]},
    )
    assert len(sweep.specs()) == (1 + 2) * (1 + 2)


def test_settings_of_an_entry_take_precedence() -> None:
    sweep = Sweep(
        learners=[{"name": "er", "memory_size": 9}, "er"],
        streams=[{"name": "sprites", "image_size": 16, "seed": 4}],
        grid={"learner.memory_size": [5, 6]},
        settings={"stream.image_size": 32},
    )
    assert values(sweep, "learner.memory_size", "stream.image_size", "stream.seed") == [
        (size, 16, 4) for size in (9, 5, 6)
    ]


def test_stream_seed_can_be_fixed() -> None:
    sweep = Sweep(**ER, seeds=[0, 1], settings={"stream.seed": 7})
    assert values(sweep, "seed", "stream.seed") == [(0, 7), (1, 7)]


def test_folders_of_jobs() -> None:
    jobs = Sweep(**ER, seeds=[0, 1], grid={"epochs": [1, 2]}).jobs(Path("records"))
    names = [f"er-sprites-seed-{job.spec.seed}-{job.spec.hash[:8]}" for job in jobs]
    assert [job.folder for job in jobs] == [Path("records") / name for name in names]
    assert len(set(names)) == 4


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({}, "a sweep needs learners; write a list such as"),
        ({"lerners": ["er"]}, "unknown key of a sweep 'lerners'; did you mean 'learners'?"),
        ({"learners": "er"}, "learners is 'er'; write a list such as"),
        ({"learners": []}, r"learners is \[\]; write a list"),
        ({"learners": [3]}, "cannot read 3; write"),
        ({"learners": ["err"]}, "unknown learner 'err'; did you mean 'er'?"),
        ({"learners": [{"name": "er", "memry": 3}]}, "unknown er setting 'memry'"),
        ({**ER, "streams": ["sprits"]}, "unknown stream 'sprits'; did you mean 'sprites'?"),
        ({**ER, "seeds": 3}, "seeds is 3; write a list such as"),
        ({**ER, "seeds": [-1]}, "seed is -1; it must be a whole number"),
        ({**ER, "seeds": [True]}, "seed is True; it must be a whole number"),
        ({**ER, "settings": {"epoch": 3}}, "unknown run setting 'epoch'; did you mean 'epochs'?"),
        ({**ER, "settings": {"seed": 3}}, "seed is set; list the seeds of the runs in seeds"),
        ({**ER, "settings": {"stream": {"image_size": 3}}}, "image_size is 3; it must be at least 16"),
        ({**ER, "settings": {"learner": "er"}}, "learner has settings of its own"),
        ({**ER, "grid": {"epochs": 3}}, "grid.epochs is 3; give a list of values"),
        ({**ER, "grid": {"epochs": []}}, r"grid.epochs is \[\]; give a list of values"),
        ({**ER, "grid": {"learner.memroy_size": [3]}}, "unknown learner setting 'memroy_size'; did you mean"),
        ({**ER, "grid": {"stream.imge_size": [16]}}, "unknown stream setting 'imge_size'; did you mean"),
        ({**ER, "variants": {"epochs": 3}}, "variants is {'epochs': 3}; write tables"),
        ({**ER, "variants": [3]}, "cannot read 3; write a table of settings"),
        ({**ER, "settings": {"epochs": 2}, "grid": {"epochs": [3]}}, "epochs is in two of settings, grid"),
        ({**ER, "random": 3}, "random is 3; write a table"),
        ({**ER, "random": {"epochs": 3}}, "random.epochs is 3; give a list"),
        ({**ER, "seeds": list(range(500)), "random": {"n_samples": 500, "epochs": [1]}}, "has 250,000 runs"),
    ],
)
def test_invalid_sweep_is_rejected(table: dict[str, Any], error: str) -> None:
    with pytest.raises(BadInput, match=error):
        Sweep(**table).specs()


# Random search


def test_samples_never_change() -> None:
    rate = Range(low=1e-4, high=1e-1, log=True)
    assert [sample(0, "learner.learning_rate", n, rate) for n in range(3)] == [0.009434, 0.004077, 0.01758]
    assert [sample(7, "epochs", n, Range(low=1, high=10)) for n in range(6)] == [7, 5, 10, 3, 10, 4]


def test_samples_of_a_setting_do_not_depend_on_others() -> None:
    few = RandomSearch.from_table({"n_samples": 3, "epochs": [1, 2, 3, 4]})
    many = RandomSearch.from_table({"n_samples": 5, "batch_size": [16, 32], "epochs": [1, 2, 3, 4]})
    assert [each["epochs"] for each in few.samples()] == [each["epochs"] for each in many.samples()][:3]


def test_samples_depend_on_the_seed() -> None:
    first, second = (
        RandomSearch.from_table({"n_samples": 50, "seed": seed, "epochs": [1, 2, 3, 4]}) for seed in (0, 1)
    )
    assert first.samples() != second.samples()


def test_search_without_settings_has_one_combination() -> None:
    assert RandomSearch.from_table({"n_samples": 5}).samples() == [{}]


def test_all_learners_get_the_same_samples() -> None:
    table = {"n_samples": 3, "learner.learning_rate": {"low": 1e-4, "high": 1e-1, "log": True}}
    rates = values(Sweep(learners=["naive", "er"], random=table), "learner.learning_rate")
    assert len(set(rates)) == 3
    assert rates[:3] == rates[3:]


@settings(deadline=None)
@given(FRACTIONS, st.integers(-1000, 1000), st.integers(0, 1000), st.booleans())
def test_integer_bounds_give_integers_between_them(fraction: float, low: int, more: int, log: bool) -> None:
    low = max(1, low) if log else low
    value = Range(low=low, high=low + more, log=log).at(fraction)
    assert isinstance(value, int)
    assert low <= value <= low + more


@settings(deadline=None)
@given(FRACTIONS, st.floats(1e-6, 1e3), st.floats(1, 1e6), st.booleans())
def test_samples_are_within_bounds(fraction: float, low: float, factor: float, log: bool) -> None:
    assert low <= Range(low=low, high=low * factor, log=log).at(fraction) <= low * factor


def test_integers_are_sampled_uniformly() -> None:
    samples = [sample(0, "x", n, Range(low=1, high=4)) for n in range(4000)]
    assert all(abs(samples.count(value) - 1000) < 150 for value in (1, 2, 3, 4))


def test_log_samples_each_decade_equally() -> None:
    samples = [sample(0, "x", n, Range(low=1e-3, high=1e0, log=True)) for n in range(3000)]
    assert abs(sum(value < 1e-2 for value in samples) - 1000) < 150


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"n_samples": 0}, "n_samples is 0; it must be at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"epochs": []}, r"random.epochs is \[\]; give a list"),
        ({"epochs": {"low": 1}}, "random.epochs is {'low': 1}; give a list"),
        ({"epochs": {"low": 1, "high": 2, "step": 1}}, "give a list of values, or { low = 1, high = 10 }"),
        (
            {"epochs": {"low": 3, "high": 2}},
            "random.epochs: low is 3 and high is 2; low must not exceed high",
        ),
        (
            {"epochs": {"low": 0, "high": 2, "log": True}},
            "random.epochs: low is 0; with log it must be above",
        ),
        ({"epochs": {"low": "a", "high": 2}}, "random.epochs: low is 'a'; it must be a"),
    ],
)
def test_invalid_random_search_is_rejected(table: dict[str, object], error: str) -> None:
    with pytest.raises(BadInput, match=error):
        RandomSearch.from_table(table)
