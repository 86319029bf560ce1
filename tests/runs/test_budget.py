import pytest

from everlearn.errors import BadInput
from everlearn.runs.budget import Budget, make_plan
from everlearn.runs.loop import RunState
from everlearn.runs.spec import RunSpec

SETTINGS = {
    "stream.image_size": 16, "stream.factor_values": 2, "stream.classes_per_task": 5, "n_tasks": 5,
    "batch_size": 16, "evaluation.every_n_tasks": 5, "evaluation.n_images": 10,
}  # fmt: skip


def spec_of(learner: str, **settings: object) -> RunSpec:
    own = {f"learner.{name}": value for name, value in settings.items()}
    return RunSpec.make(learner=learner, settings={**SETTINGS, **own})


@pytest.mark.parametrize(
    ("learner", "settings"),
    [("er", {"backbone": "mlp"}), ("joint", {"backbone": "mlp"}), ("ewc", {"backbone": "mlp"}), ("dcl", {})],
)
def test_costs_are_those_of_the_run(learner: str, settings: dict[str, object]) -> None:
    plan = make_plan(spec_of(learner, **settings), Budget(n_bytes=1e7, images=2 * 350))
    state = RunState(plan.spec)
    n_images = sum(event.to_json()["n_images"] for event in state.events() if event.kind == "task-ended")
    footprint = state.learner.footprint()
    assert plan.n_bytes == pytest.approx(footprint.weights + footprint.memory, rel=0.01)
    assert plan.flops == pytest.approx(state.learner.flops, rel=0.1)
    assert plan.images == n_images == 700
    assert plan.n_bytes <= 1e7


def test_larger_budgets_give_larger_memories_and_more_epochs() -> None:
    spec = spec_of("er", backbone="mlp")
    small, large = (
        make_plan(spec, Budget(n_bytes=n, flops=flops)) for n, flops in ((2.24e6, 8e9), (2.28e6, 2e10))
    )
    assert small.settings["learner.memory_size"] < large.settings["learner.memory_size"] <= 350
    assert 1 <= small.settings["epochs"] < large.settings["epochs"]
    assert large.flops <= 2e10
    assert large.spec.learner.settings["memory_size"] == large.settings["learner.memory_size"]


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(), "no budget is given"),
        (Budget(n_bytes=1000), "er needs .* with the smallest memory, but the budget is 1.00 kB"),
        (Budget(flops=0), "one epoch takes .* more than the budget"),
        (Budget(images=10), "one epoch takes .* and 350 images, more than the budget"),
    ],
)
def test_impossible_budgets_are_refused(budget: Budget, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_plan(spec_of("er", backbone="mlp"), budget)
