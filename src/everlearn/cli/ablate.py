"""`everlearn ablate`: ablation study of a method."""

import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from everlearn import learners, reports, runs
from everlearn.cli.arguments import ANY_RUN, RUN, RunChoice, Whole
from everlearn.cli.output import CommandResult, Console, ConsoleArg, table
from everlearn.errors import BadInput, check_range

FULL = "nothing"
MAX_NEW_CLASSES = 100_000
N_TIMED = 200
"""Images for measuring prediction time."""

Folder = Annotated[Path, Parameter(metavar="DIR", group=RUN)]
Count = Annotated[Whole, Parameter(metavar="N", group=RUN)]


def ablate(
    choice: RunChoice = ANY_RUN, *, records: Folder = Path("ablation"), new: Count = 1000, console: ConsoleArg
) -> CommandResult:
    """Run a method as it is and without each of its components, and compare the results.

    Finished runs are not repeated, so the same command continues a stopped ablation.

    Args:
        choice: The run.
        records: Folder for the records, one for each ablation.
        new: New classes for a one-shot evaluation after each run; 0: none.
    """
    check_range("new", new, 0, MAX_NEW_CLASSES)
    spec = choice.build()
    rows = [_row(name, each, records, new, console) for name, each in _variants(spec).items()]
    data = {"learner": spec.learner.name, "tasks": rows[0]["tasks"], "new": new, "ablations": rows}
    return CommandResult(data, lambda: _table(rows, new))


def _variants(spec: "runs.RunSpec") -> dict[str, "runs.RunSpec"]:
    ablations = learners.learner_class(spec.learner.name).ablations
    if not ablations:
        raise BadInput(f"{spec.learner.name} has no ablations; use --learner dcl")
    full = spec.to_mapping()
    return {
        name: runs.RunSpec.from_mapping(
            {**full, "learner": {**full["learner"], "settings": {**spec.learner.settings, **off}}}
        )
        for name, off in {FULL: {}, **ablations}.items()
    }


def _row(name: str, spec: "runs.RunSpec", records: Path, new: int, console: Console) -> dict[str, Any]:
    from everlearn.cli.run import run_or_resume

    record = run_or_resume(records / runs.folder_name(name, spec.hash), spec, console)
    results = reports.summary(reports.RunResults.from_record(record))
    keys = ("record", "tasks", "average_accuracy", "seconds", "flops", "digest")
    one_shot = _one_shot(record, new) if new else {}
    return {"ablation": name, **{key: results[key] for key in keys}, **one_shot}


def _one_shot(record: "runs.Record", new: int) -> dict[str, Any]:
    """One-shot accuracy on new classes among all classes, and prediction time."""
    from everlearn.evaluation.protocols.one_shot import OneShot

    run = runs.load_run(record)
    (shots,) = OneShot(n_new=(new,)).run(run.learner, run.stream, run.n_tasks_done).shots
    sample = run.stream.eval_sample(run.n_tasks_done, N_TIMED)
    started = time.process_time()
    run.learner.predict(sample.images)
    each = 1000 * (time.process_time() - started) / len(sample)
    return {"new_classes": shots.generalized, "milliseconds": round(each, 2)}


def _table(rows: list[dict[str, Any]], new: int) -> Any:
    columns = {"without": "ablation", "accuracy": "average_accuracy"}
    columns |= {f"{new:,} new classes": "new_classes"} if new else {}
    columns |= {"seconds": "seconds", "training TFLOPs": "flops"}
    columns |= {"ms per prediction": "milliseconds"} if new else {}
    forms = {"ablation": "", "seconds": ".0f", "flops": ".2f", "milliseconds": ".2f"}
    scaled = [{**row, "flops": row["flops"] / 1e12} for row in rows]
    return table(
        tuple(columns),
        [tuple(format(row[key], forms.get(key, ".4f")) for key in columns.values()) for row in scaled],
    )
