"""Settings of negative replay: what is played is the best of what was tried, and trying is exact."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks import negative_tuning as tuning

from everlearn.papers.negative import NEGATIVE
from everlearn.papers.negative.dial import FEW

LAPTOP = NEGATIVE.scale("laptop")
SHARES = {"nc": 8, "nic": 32}
TAKEN = {"real": "OD", "fresh": "GD", "copied": "GD"}
"""Lines of the dial have the step sizes of variants, or those of worn-out patterns."""


def settings(name: str) -> dict[str, Any]:
    (line,) = LAPTOP.some([name])
    tuned = ("head_rate", "body_rate", "replay_size")
    return {key: line.settings[f"learner.{key}"] for key in tuned if f"learner.{key}" in line.settings}


@pytest.mark.parametrize("line", tuning.lines(), ids=lambda line: line.name)
def test_what_is_played_is_the_best_of_what_was_tried(line: Any) -> None:
    assert settings(line.name) == tuning.choice(line.name)


@pytest.mark.parametrize(
    "name", [line.name for line in LAPTOP.lines if ", " in line.name and FEW not in line.name]
)
def test_along_the_dial_it_is_the_best_with_the_papers_share(name: str) -> None:
    scenario, role = name.partition(",")[0].split()
    level = name.partition(", ")[2]
    source = f"{scenario} {role}-{TAKEN[level]}" if level in TAKEN else f"{scenario} {role}, {FEW}"
    assert settings(name) == tuning.choice(source, share=SHARES[scenario])


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
    assert tuning.choice("nic NR-GD", share=8)["body_rate"] == 1e-5
