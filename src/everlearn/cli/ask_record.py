"""`everlearn ask RECORD IMAGE...`: what a trained learner with exemplars recognises in images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from everlearn import runs
from everlearn.cli.output import CommandResult, Console, table
from everlearn.errors import BadInput
from everlearn.learners.capabilities import EditsMemory, Rejects
from everlearn.runs.memory_edit import ClassNames, exemplar_of, load_run
from everlearn.streams.images.canonical import read_image

TITLES = ("image", "name", "novelty")


def ask_record(record: Path, paths: Sequence[Path], console: Console) -> CommandResult:
    """The class and the novelty score of each image, drawn as the stream's exemplars are."""
    run = load_run(runs.Record(record))
    if not isinstance(run.learner, EditsMemory):
        raise BadInput(
            f"the learner of {record}, {run.spec.learner.name}, has no exemplars to compare images with; "
            "ask a record of dcl, or use `everlearn.Record(FOLDER).learner().predict(images)` in Python"
        )
    names, answers = ClassNames(run), []
    with console.progress(f"Asking {record}") as update:
        for done, path in enumerate(paths):
            answers.append({"image": str(path), **_answer(run, names, path)})
            update(done + 1, len(paths), str(answers[-1]["name"]))
    data = {"record": str(record), "answers": answers}
    return CommandResult(data, lambda: table(TITLES, map(_row, answers)))


def _answer(run: runs.RunState, names: ClassNames, path: Path) -> dict[str, Any]:
    image = exemplar_of(run, read_image(path))
    label = int(run.learner.predict(image[None])[0])
    novelty = float(run.learner.novelty(image[None])[0]) if isinstance(run.learner, Rejects) else None
    return {"label": label, "name": names.name(label) if label >= 0 else None, "novelty": novelty}


def _row(answer: dict[str, Any]) -> tuple[str, ...]:
    novelty = "" if answer["novelty"] is None else f"{answer['novelty']:.3f}"
    return answer["image"], answer["name"] or "unknown", novelty
