"""`everlearn protocol choice`: find the same thing again among several."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from everlearn import files
from everlearn.cli.arguments import ANY_STREAM, StreamChoice, Whole, check_path, read_counts
from everlearn.cli.output import Answer, Screen, Shown
from everlearn.errors import BadInput
from everlearn.runs import Play, Record
from everlearn.runs.memory_edit import opened
from everlearn.runs.run_record import PROTOCOLS

if TYPE_CHECKING:
    from everlearn.evaluation.protocols import Choice, Chooser, Endpoint, Question


def taught(record: Record) -> Play:
    """The run at its newest checkpoint, with at least one task behind it to be asked about."""
    play = opened(record)
    if not play.position.task:
        raise BadInput(
            f"{record.folder} has not finished a task yet; play it with `everlearn resume {record.folder}`"
        )
    return play


def asked(folder: Path, question: str, ask: Callable[[Play, int], dict[str, Any]]) -> dict[str, Any]:
    """The answer of a record's learner, also written into the record."""
    record = Record(folder)
    play = taught(record)
    n_tasks = play.position.task
    facts = {"record": str(folder), "learner": play.spec.learner.name, "tasks": n_tasks, **ask(play, n_tasks)}
    return keep(record, question, facts)


def batches(folder: Path) -> list[int]:
    """How many batches a record's learner learned in each task."""
    from everlearn.reports.run_results import Findings

    return list(Findings.of(Record(folder)).n_batches.values())


def keep(record: Record, question: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Write an answer into the record, with what tells whether the record has changed since."""
    folder = record.folder / PROTOCOLS
    files.make_folder(folder)
    kept = {**facts, "digest": record.digest}
    files.write(folder / f"{question}.json", json.dumps(kept, indent=1).encode() + b"\n")
    return kept


MODEL = Group("Which model", sort_key=1)
PIXELS = "pixel matching"

Optional = Parameter(show_default=False)
Out = Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """The options that choose a vision-language model, and how it is asked."""

    endpoint: Annotated[str | None, Optional, Parameter(metavar="URL")] = None
    """The address of a model that speaks OpenAI's chat format, such as http://localhost:8000/v1."""
    model: Annotated[str | None, Optional, Parameter(metavar="NAME")] = None
    """The model's name, as the endpoint knows it."""
    key_variable: str = "OPENAI_API_KEY"
    """The environment variable with the key; none is sent if it is not set."""
    answers: Annotated[Path, Parameter(metavar="DIR")] = Path("answers")
    """Where answers are kept; what is there is not asked again."""
    timeout: float = 60.0
    """Seconds without a word after which an attempt is given up."""
    retries: Whole = 6
    """Attempts after the first, each after a longer wait."""
    per_minute: float = 60.0
    """The most requests in a minute."""
    max_cost: Annotated[float | None, Optional] = None
    """Stop asking once this much is spent; needs the prices."""
    price_in: float = 0.0
    """Price of a million tokens sent."""
    price_out: float = 0.0
    """Price of a million tokens received."""

    def build(self) -> "Endpoint | None":
        """The model that was chosen, if one was."""
        from everlearn.evaluation.protocols import Budget, Endpoint, Post, address

        if self.endpoint is None and self.model is None:
            return None
        if not self.endpoint or not self.model:
            raise BadInput("a model needs its address and its name; give both --endpoint and --model")
        if check_path(self.answers).exists() and not self.answers.is_dir():
            raise BadInput(
                f"--answers is {str(self.answers)!r}, a file; name a folder, which may be a new one"
            )
        post = Post(
            address(self.endpoint),
            key=os.environ.get(self.key_variable),
            timeout=self.timeout,
            retries=self.retries,
            per_minute=self.per_minute,
        )
        budget = Budget(price_in=self.price_in, price_out=self.price_out, limit=self.max_cost)
        return Endpoint(post, model=self.model, answers=self.answers, budget=budget)


NOBODY = ModelChoice()


def choice(
    record: Annotated[Path | None, Optional] = None,
    /,
    stream: StreamChoice = ANY_STREAM,
    model: ModelChoice = NOBODY,
    *,
    choices: str = "2,3,4,5,6,7,8,9,10",
    trials: Whole = 100,
    out: Annotated[Path | None, Out] = None,
    screen: Shown,
) -> Answer:
    """Show a thing in some pose; which of several in their canonical pose is it?

    Pixel matching is always asked; the learner of a record and a model behind an address if they are named.
    All get the same questions, about classes that the learner has not met.

    Args:
        record: The folder of a record whose learner keeps a memory that can be edited.
        stream: Where things come from, if no record is named.
        model: A vision-language model to ask.
        choices: Numbers of choices.
        trials: Questions for each of them.
        out: An .svg, .pdf or .png file to draw the answers in.
        screen: Where progress is shown.
    """
    if record is not None and stream != ANY_STREAM:
        raise BadInput("a record has its own stream; leave the options that choose one out")
    counts, endpoint = read_counts("--choices", choices, such_as="2,5,10"), model.build()
    if out is not None:
        _check_out(out)
    with ExitStack() as stack:
        asked, choosers, facts = _prepared(record, stream, counts, trials, stack)
        if endpoint is not None:
            choosers[endpoint.model] = endpoint
        found = dict(_found(choosers, asked, screen))
    facts |= {"answers": {name: [each.to_json() for each in given] for name, given in found.items()}}
    facts |= {"out": None if out is None else str(out), **_spent(endpoint)}
    _draw(found, out)
    return Answer(facts if record is None else _kept(record, facts), lambda: _table(found))


def _prepared(
    record: Path | None, stream: StreamChoice, counts: list[int], trials: int, stack: ExitStack
) -> "tuple[list[list[Question]], dict[str, Chooser], dict[str, Any]]":
    """The questions, who answers them besides a model, and what they are about."""
    from everlearn.evaluation.protocols import by_memory, by_pixels, questions

    choosers: dict[str, Chooser] = {PIXELS: by_pixels}
    if record is None:
        source, n_tasks, about = stream.build(), 0, None
    else:
        pass
        from everlearn.runs import Record

        play = taught(Record(record))
        source, n_tasks, about = play.stream, play.position.task, str(record)
        choosers[play.spec.learner.name] = stack.enter_context(by_memory(play.learner))
    asked = questions(source, n_tasks, counts=counts, n_trials=trials)
    return asked, choosers, {"record": about, "stream": source.id, "tasks": n_tasks, "trials": trials}


def _found(
    choosers: "dict[str, Chooser]", asked: "list[list[Question]]", screen: Screen
) -> "Iterator[tuple[str, tuple[Choice, ...]]]":
    from everlearn.evaluation.protocols import multiple_choice

    for name, choose in choosers.items():
        with screen.progress(f"Asking {name}") as progress:
            yield name, multiple_choice(choose, asked, progress=progress)


def _spent(endpoint: "Endpoint | None") -> dict[str, Any]:
    if endpoint is None:
        return {}
    return {"asked": endpoint.n_asked, "known": endpoint.n_known, "cost": round(endpoint.cost, 6)}


def _kept(record: Path, facts: dict[str, Any]) -> dict[str, Any]:
    pass
    from everlearn.runs import Record

    return keep(Record(record), "choice", facts)


def _check_out(out: Path) -> None:
    from everlearn.reports.figures import ENDINGS
    from everlearn.reports.figures import check_path as check_figure

    check_figure(check_path(out), ENDINGS)


def _draw(found: "dict[str, tuple[Choice, ...]]", out: Path | None) -> None:
    from everlearn.reports.multiple_choice_figure import choice_figure

    if out is not None:
        choice_figure(found, out)


def _table(found: "dict[str, tuple[Choice, ...]]") -> Any:
    from everlearn.cli.output import table

    rows = [
        (str(each[0].n_choices), f"{each[0].chance:.3f}", *(str(one.accuracy) for one in each))
        for each in zip(*found.values(), strict=True)
    ]
    return table(("choices", "a guess", *found), rows)
