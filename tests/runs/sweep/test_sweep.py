from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Sweep

ER: dict[str, Any] = {"learners": ["er"]}


def settings(sweep: Sweep, *names: str) -> list[tuple[Any, ...]]:
    """Of every run, the values of some settings."""
    return [
        tuple(_value(spec.to_mapping(), *name.partition(".")) for name in names) for spec in sweep.specs()
    ]


def _value(spec: Mapping[str, Any], part: str, dot: str, field: str) -> Any:
    if part == "learner" and field != "name":
        return spec["learner"]["settings"].get(field)
    return spec[part][field] if field else spec[part]


def test_every_combination_is_played_and_the_first_seed_comes_first() -> None:
    sweep = Sweep(learners=["naive", "er"], streams=["sprites", "mnist"], seeds=[3, 5])
    assert settings(sweep, "seed", "stream.seed", "stream.stream", "learner.name") == [
        (seed, seed, stream, learner)
        for seed in (3, 5)
        for stream in ("sprites", "mnist")
        for learner in ("naive", "er")
    ]


def test_a_grid_has_every_combination_and_variants_go_together() -> None:
    sweep = Sweep(
        **ER,
        settings={"n_tasks": 3},
        grid={"epochs": [1, 2], "stream": {"image_size": [16, 32]}},
        variants=[{"batch_size": 8, "learner": {"replay_size": 8}}, {"batch_size": 64}],
    )
    names = ("n_tasks", "epochs", "stream.image_size", "batch_size", "learner.replay_size")
    assert settings(sweep, *names) == [
        (3, epochs, size, batch, replay)
        for epochs in (1, 2)
        for size in (16, 32)
        for batch, replay in ((8, 8), (64, 64))
    ]


def test_dotted_names_may_be_written_in_one_word() -> None:
    tables, words = {"stream": {"image_size": 16}}, {"stream.image_size": 16}
    assert Sweep(**ER, settings=tables).specs() == Sweep(**ER, settings=words).specs()


def test_a_setting_is_only_set_for_those_that_know_it() -> None:
    sweep = Sweep(
        learners=["naive", "er"],
        streams=["sprites", "mnist"],
        grid={"learner.memory_size": [5, 6], "stream.vertices": [[5, 8], [6, 7]]},
    )
    assert len(sweep.specs()) == (1 + 2) * (1 + 2)


def test_what_a_learner_or_a_stream_says_itself_goes_first() -> None:
    sweep = Sweep(
        learners=[{"name": "er", "memory_size": 9}, "er"],
        streams=[{"name": "sprites", "image_size": 16, "seed": 4}],
        grid={"learner.memory_size": [5, 6]},
        settings={"stream.image_size": 32},
    )
    assert settings(sweep, "learner.memory_size", "stream.image_size", "stream.seed") == [
        (size, 16, 4) for size in (9, 5, 6)
    ]


def test_random_settings_are_drawn_for_every_learner_alike() -> None:
    drawn = {"draws": 3, "learner.learning_rate": {"low": 1e-4, "high": 1e-1, "log": True}}
    sweep = Sweep(learners=["naive", "er"], random=drawn)
    rates = settings(sweep, "learner.learning_rate")
    assert len(set(rates)) == 3
    assert rates[:3] == rates[3:]
    assert Sweep(learners=["naive", "er"], random=drawn).specs() == sweep.specs()


def test_the_stream_may_stay_the_same_under_all_seeds() -> None:
    sweep = Sweep(**ER, seeds=[0, 1], settings={"stream.seed": 7})
    assert settings(sweep, "seed", "stream.seed") == [(0, 7), (1, 7)]


def test_each_run_has_a_folder_that_says_what_it_is() -> None:
    jobs = Sweep(**ER, seeds=[0, 1], grid={"epochs": [1, 2]}).jobs(Path("there"))
    assert [job.folder.name.rpartition("-")[0] for job in jobs] == ["er-sprites-seed-0"] * 2 + [
        "er-sprites-seed-1"
    ] * 2
    assert len({job.folder for job in jobs}) == 4
    assert {job.folder.parent for job in jobs} == {Path("there")}
    assert all(job.folder.name.endswith(job.spec.hash[:8]) for job in jobs)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "a sweep needs learners; write a list such as"),
        ({"lerners": ["er"]}, "unknown key of a sweep 'lerners'; did you mean 'learners'?"),
        ({"learners": "er"}, "learners is 'er'; write a list such as"),
        ({"learners": []}, r"learners is \[\]; write a list"),
        ({"learners": [3]}, "cannot tell what 3 is; write"),
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
        ({**ER, "variants": [3]}, "cannot tell what 3 is; write a table of settings"),
        ({**ER, "settings": {"epochs": 2}, "grid": {"epochs": [3]}}, "epochs is in two of settings, grid"),
        ({**ER, "random": 3}, "random is 3; write a table"),
        ({**ER, "random": {"epochs": 3}}, "random.epochs is 3; give a list"),
        ({**ER, "seeds": list(range(500)), "random": {"draws": 500, "epochs": [1, 2]}}, "has 250,000 runs"),
    ],
)
def test_what_cannot_be_a_sweep_is_refused_in_a_sentence(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        Sweep(**given).specs()
