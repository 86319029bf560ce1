"""`everlearn budget`: settings with which a learner meets a budget."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from everlearn import files
from everlearn.cli.arguments import ANY_RUN, RunChoice
from everlearn.cli.output import CommandResult, ConsoleArg, details
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.runs.budget import BudgetPlan

PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
AMOUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?) ?([kMGTPE]?)(?:B|FLOPs?)?", re.ASCII)
BUDGET = Group("Budget", sort_key=-1)

Amount = Annotated[str | None, Parameter(show_default=False, metavar="N", group=BUDGET)]
Out = Annotated[Path | None, Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")]


def budget(
    choice: RunChoice = ANY_RUN,
    *,
    bytes: Amount = None,
    flops: Amount = None,
    images: Amount = None,
    out: Out = None,
    console: ConsoleArg,
) -> CommandResult:
    """Find the settings with which a learner meets a budget.

    Chooses the largest memory within the bytes and the most epochs within FLOPs and images. Costs are
    extrapolated from short pilot runs of the real learner.

    Args:
        choice: The run.
        bytes: Most bytes of weights and memory at the end, such as 10MB.
        flops: Most floating-point operations of training, such as 2T or 2e12.
        images: Most training images, counted once per use, such as 60k.
        out: A .toml file for the settings of the run; `everlearn run --spec FILE` runs it.
    """
    from everlearn.runs.budget import Budget, make_plan

    if out is not None:
        files.check_output(out, [".toml"])
    given = {"n_bytes": ("--bytes", bytes), "flops": ("--flops", flops), "images": ("--images", images)}
    limits = {name: read_amount(*each) for name, each in given.items()}
    with console.progress(f"{choice.learner or 'dcl'}, pilot runs") as progress:
        plan = make_plan(choice.build(), Budget(**limits), progress)
    if out is not None:
        files.write(out, plan.spec.to_toml().encode())
    return _result(plan, limits, out)


def read_amount(option: str, text: str | None) -> float | None:
    """An amount such as 10MB, 2e12 or 60k; None if it is not given.

    Example:
        >>> read_amount("--bytes", "2.5MB"), read_amount("--flops", "2e12"), read_amount("--images", None)
        (2500000.0, 2000000000000.0, None)
    """
    if text is None:
        return None
    found = AMOUNT.fullmatch(text)
    if found is None or not float(found[1]):
        raise BadInput(f"{option} is {text!r:.40}; write a number above 0 such as 500, 60k, 10MB or 2e12")
    return float(found[1]) * PREFIXES[found[2]]


def _result(plan: "BudgetPlan", limits: dict[str, Any], out: Path | None) -> CommandResult:
    data = {
        "learner": plan.spec.learner.name,
        "settings": plan.settings,
        "bytes": round(plan.n_bytes),
        "flops": plan.flops,
        "images": plan.images,
        "answer_flops": plan.answer.flops,
        "answer_ms": plan.answer.milliseconds,
        "budget": {"bytes": limits["n_bytes"], "flops": limits["flops"], "images": limits["images"]},
        "out": None if out is None else str(out),
    }
    return CommandResult(data, lambda: _table(plan, limits, out))


def _table(plan: "BudgetPlan", limits: dict[str, Any], out: Path | None) -> Any:
    from everlearn.evaluation.formatting import format_amount, format_bytes, format_error

    def within(text: str, limit: float | None, form: Any) -> str:
        return text if limit is None else f"{text} of {form(limit)}"

    chosen = " ".join(f"--set {name}={value}" for name, value in plan.settings.items())
    flops, answer = format_amount(plan.flops), plan.answer
    rows = [
        ("settings", chosen or "as they are: this learner has no size of a memory to choose"),
        ("bytes", within(format_bytes(plan.n_bytes), limits["n_bytes"], format_bytes)),
        ("FLOPs", within(flops, limits["flops"], format_amount)),
        ("images", within(format_amount(plan.images), limits["images"], format_amount)),
        ("answer", f"{format_amount(answer.flops)} FLOPs, {format_error(answer.milliseconds)} ms"),
    ]
    where = [] if out is None else [f"Run it with `everlearn run --spec {out}`"]
    return details(f"{plan.spec.learner.name}, estimated by pilot runs", rows, *where)
