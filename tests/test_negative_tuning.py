"""Settings of negative replay: what is played is the best of what was tried, and trying is exact."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks import negative_tuning as tuning

from everlearn.papers.negative import NEGATIVE

LAPTOP = NEGATIVE.scale("laptop")


def settings(name: str) -> dict[str, Any]:
    (line,) = LAPTOP.some([name])
    tuned = ("head_rate", "body_rate", "replay_size")
    return {key: line.settings[f"learner.{key}"] for key in tuned if f"learner.{key}" in line.settings}


@pytest.mark.parametrize("line", tuning.lines(), ids=lambda line: line.name)
def test_what_is_played_is_the_best_of_what_was_tried(line: Any) -> None:
    assert settings(line.name) == tuning.choice(line.name)


@pytest.mark.parametrize("scenario", ["nc", "nic"])
@pytest.mark.parametrize("role", ["PR", "NR"])
def test_the_rest_of_the_dial_is_played_as_its_neighbours_are(scenario: str, role: str) -> None:
    name = f"{scenario} {role}-GD"
    assert settings(f"{name}, fresh") == settings(name)
    assert settings(f"{name}, worn 0.5") == settings(f"{name}, worn 1")


def test_it_is_tuned_under_a_seed_that_is_not_reported() -> None:
    assert all(tuning.SEED not in line.seeds for line in LAPTOP.lines)


def test_one_setting_after_another_is_searched_and_nothing_is_tried_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A valley with its best at a head of 0.1, a body of 1e-5 and 16 replayed."""
    asked: list[dict[str, Any]] = []

    def judged(line: Any, choice: dict[str, Any]) -> float:
        asked.append(choice)
        wanted = {"head_rate": 0.1, "body_rate": 1e-5, "replay_size": 16}
        return sum(choice[key] == value for key, value in wanted.items()) / 4

    monkeypatch.setattr(tuning, "TRIED", tmp_path / "tuning.json")
    monkeypatch.setattr(tuning, "judged", judged)
    (line,) = LAPTOP.some(["nic NR-GD"])
    for _ in range(2):
        tuning.search(line)
    assert len(asked) == 8
    assert tuning.choice("nic NR-GD") == {"head_rate": 0.1, "body_rate": 1e-5, "replay_size": 16}
