"""Settings of negative replay: what is played is the best of what was tried, and trying is exact."""

import math
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
def test_bad_patterns_are_replayed_as_worn_out_ones_are(scenario: str, role: str) -> None:
    worn_out = settings(f"{scenario} {role}-GD, worn 1")
    assert settings(f"{scenario} {role}-GD, worn 0.5") == worn_out
    assert settings(f"{scenario} {role}-GD, unguided") == worn_out


def test_it_is_tuned_under_seeds_that_are_not_reported() -> None:
    assert not any({tuning.SEED, tuning.OTHER_SEED} & set(line.seeds) for line in LAPTOP.lines)


def test_step_sizes_that_come_close_are_judged_again_under_another_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best under one seed is about to be too large, which the other shows."""
    under = {tuning.SEED: {0.3: 0.61, 0.1: 0.6, 0.03: 0.58}, tuning.OTHER_SEED: {0.3: 0.4, 0.1: 0.6}}
    asked: list[float] = []

    def judged(line: Any, choice: dict[str, Any], seed: int = tuning.SEED) -> float:
        if seed == tuning.OTHER_SEED:
            asked.append(choice["head_rate"])
        return under[seed].get(choice["head_rate"], 0.5)

    monkeypatch.setattr(tuning, "TRIED", tmp_path / "tuning.json")
    monkeypatch.setattr(tuning, "judged", judged)
    monkeypatch.setattr(tuning, "CLOSE", 0.015)
    (line,) = LAPTOP.some(["nic NR-GD"])
    for _ in range(2):
        tuning.search(line)
    assert sorted(asked) == [0.1, 0.3]
    assert tuning.choice("nic NR-GD")["head_rate"] == 0.1


def test_one_setting_after_another_is_searched_and_nothing_is_tried_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A valley with its best at a head of 0.1, a body of 1e-5 and 16 replayed."""
    asked: list[dict[str, Any]] = []

    def judged(line: Any, choice: dict[str, Any], seed: int = tuning.SEED) -> float:
        asked.append(choice)
        wanted = {"head_rate": 0.1, "body_rate": 1e-5, "replay_size": 16}
        return sum(choice[key] == value for key, value in wanted.items()) / 4

    monkeypatch.setattr(tuning, "TRIED", tmp_path / "tuning.json")
    monkeypatch.setattr(tuning, "judged", judged)
    (line,) = LAPTOP.some(["nic NR-GD"])
    for _ in range(2):
        tuning.search(line)
    assert len(asked) == 9, "the next step size of the head as well, since the best was the last"
    assert tuning.choice("nic NR-GD") == {"head_rate": 0.1, "body_rate": 1e-5, "replay_size": 16}


@pytest.mark.parametrize(
    ("best", "beyond"), [(0.0001, {0.001, 0.0003, 0.0001}), (0.3, {0.3, 1.0}), (0.01, set())]
)
def test_the_grid_is_left_where_its_edge_is_best(
    best: float, beyond: set[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearer to the best step size of the head, the better."""
    asked: set[float] = set()

    def judged(line: Any, choice: dict[str, Any], seed: int = tuning.SEED) -> float:
        asked.add(choice["head_rate"])
        return 1 / (1 + abs(math.log(choice["head_rate"] / best)))

    monkeypatch.setattr(tuning, "TRIED", tmp_path / "tuning.json")
    monkeypatch.setattr(tuning, "judged", judged)
    (line,) = LAPTOP.some(["nic NR-GD"])
    tuning.search(line)
    assert tuning.choice("nic NR-GD")["head_rate"] == best
    assert asked == {0.003, 0.01, 0.03, 0.1} | beyond
