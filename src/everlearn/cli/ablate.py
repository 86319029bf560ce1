"""`everlearn ablate`: switch each idea of a learner off in turn, and see what it was worth."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn.cli.arguments import ANY_RUN, HOW, RunChoice, Whole
from everlearn.cli.output import Answer, Screen, Shown
from everlearn.errors import BadInput, check_range

if TYPE_CHECKING:
    from everlearn.runs import Record, RunSpec


ALL_ON = "nothing"
MAX_NEW = 100_000

Folder = Annotated[Path, Parameter(metavar="DIR", group=HOW)]
New = Annotated[Whole, Parameter(metavar="N", group=HOW)]


def ablate(
    choice: RunChoice = ANY_RUN, *, records: Folder = Path("ablation"), new: New = 1000, screen: Shown
) -> Answer:
    """Play a run as it is and with each of its learner's ideas switched off; print what each is worth.

    Runs that are finished are not played again, so a stopped ablation goes on where it was.

    Args:
        choice: Which run.
        records: The folder for the records, one for each idea.
        new: New classes shown once after the run and asked for: many make small errors show. 0 asks none.
        screen: Where progress is shown.
    """
    check_range("new", new, 0, MAX_NEW)
    spec = choice.build()
    rows = [_row(idea, each, records, new, screen) for idea, each in _variants(spec).items()]
    facts = {"learner": spec.learner.name, "tasks": rows[0]["tasks"], "new": new, "without": rows}
    return Answer(facts, lambda: _view(rows, new))


def _variants(spec: "RunSpec") -> dict[str, "RunSpec"]:
    from everlearn.learners import learner_class
    from everlearn.runs import RunSpec

    ideas: Mapping[str, Mapping[str, Any]] = learner_class(spec.learner.name).ablations
    if not ideas:
        raise BadInput(f"{spec.learner.name} has no ideas that can be switched off; try --learner dcl")
    whole = spec.to_mapping()
    return {
        idea: RunSpec.from_mapping(
            {**whole, "learner": {**whole["learner"], "settings": {**spec.learner.settings, **off}}}
        )
        for idea, off in {ALL_ON: {}, **ideas}.items()
    }


def _row(idea: str, spec: "RunSpec", records: Path, new: int, screen: Screen) -> dict[str, Any]:
    """Play one variant, and ask it."""
    from everlearn.cli.run import play_into
    from everlearn.reports.run_results import RunResults, summary
    from everlearn.runs.run_record import folder_name

    record = play_into(records / folder_name(idea, spec.hash), spec, screen)
    found = summary(RunResults.from_record(record))
    keys = ("record", "tasks", "average_accuracy", "seconds", "flops", "digest")
    return {"idea": idea, **{key: found[key] for key in keys}, **(_asked(record, new) if new else {})}


def _asked(record: "Record", new: int) -> dict[str, Any]:
    """How well, and how fast, new classes are recognised beside the old ones after one image each."""
    import time

    from everlearn.evaluation.protocols.one_shot import OneShot
    from everlearn.runs.memory_edit import opened

    play = opened(record)
    n_tasks = play.position.task
    (shots,) = OneShot(n_new=(new,)).run(play.learner, play.stream, n_tasks).shots
    known = play.stream.eval_sample(n_tasks, 200)
    started = time.process_time()
    play.learner.predict(known.images)
    each = 1000 * (time.process_time() - started) / len(known)
    return {"new_classes": shots.generalized, "milliseconds": round(each, 2)}


def _view(rows: list[dict[str, Any]], new: int) -> Any:
    from everlearn.cli.output import table

    titles = ("without", "accuracy", f"{new:,} new classes", "seconds", "TFLOP learning", "ms an answer")
    return table(titles[:2] + titles[2 if new else 3 : 6 if new else 5], [_words(row) for row in rows])


def _words(row: dict[str, Any]) -> tuple[str, ...]:
    asked = "new_classes" in row
    return (
        row["idea"],
        f"{row['average_accuracy']:.4f}",
        *([f"{row['new_classes']:.4f}"] if asked else []),
        f"{row['seconds']:.0f}",
        f"{row['flops'] / 1e12:.2f}",
        *([f"{row['milliseconds']:.2f}"] if asked else []),
    )
