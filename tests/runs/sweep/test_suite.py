from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep.suite import LONG, SIZES, SuiteEntry, get_size


def test_every_size_scores_the_long_run_when_it_is_evaluated() -> None:
    for size in SIZES.values():
        every = size.run_settings()[LONG]["evaluation.every_n_tasks"]
        assert all(length % every == 0 for length in size.lengths)


def test_learners_get_the_protocols_that_they_can_be_evaluated_on(tmp_path: Path) -> None:
    small = get_size("small")
    names = {
        name: [protocol for protocol, *_ in SuiteEntry(name, small).job(LONG, 0, tmp_path).protocols]
        for name in ("dcl", "naive")
    }
    assert names == {"dcl": ["answer-cost", "one-shot", "open-set"], "naive": ["answer-cost"]}


def test_settings_give_another_folder_and_another_run(tmp_path: Path) -> None:
    plain, other = (SuiteEntry("er", get_size("smoke"), settings) for settings in ({}, {"memory_size": 7}))
    assert plain.folder(tmp_path) != other.folder(tmp_path)
    assert other.spec(LONG).learner.settings["memory_size"] == 7
    jobs = other.jobs(tmp_path, 2)
    assert len({job.folder for job in jobs}) == len(jobs) == 6
    assert {(job.spec.seed, job.spec.stream.seed) for job in jobs} == {(0, 0), (1, 1)}


def test_invalid_entries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean 'small'"):
        get_size("smal")
    with pytest.raises(BadInput, match="seeds is 0"):
        SuiteEntry("er", get_size("smoke")).jobs(tmp_path, 0)
    with pytest.raises(BadInput, match="memory"):
        SuiteEntry("er", get_size("smoke"), {"memory": 3}).jobs(tmp_path, 1)
