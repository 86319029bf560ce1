from pathlib import Path

import pytest

from .outcomes import Run, assert_refused

pytestmark = pytest.mark.usefixtures("_in_tmp_path")
ER = ("--learner", "er", "--backbone", "mlp", "--image-size", "16", "--factor-values", "2", "--tasks", "3")


def test_plan_is_printed_and_written(run: Run) -> None:
    data = run("budget", *ER, "--bytes", "2.24MB", "--images", "1k", "--out", "plan.toml", "--json").data
    assert data["bytes"] <= data["budget"]["bytes"] == 2.24e6
    assert data["images"] == 420 * data["settings"]["epochs"] <= 1000
    assert data["answer_flops"] > 0
    assert data["answer_ms"] > 0
    size = data["settings"]["learner.memory_size"]
    assert f"memory_size = {size}\n" in Path("plan.toml").read_text()
    assert f"--set learner.memory_size={size}" in run("budget", *ER, "--bytes", "2.24MB").out


@pytest.mark.parametrize(
    "words", [(), ("--bytes", "much"), ("--flops", "0"), ("--bytes", "1kB", "-o", "a.json")]
)
def test_invalid_budgets_are_refused(run: Run, words: tuple[str, ...]) -> None:
    assert_refused(run("budget", *ER, *words))
