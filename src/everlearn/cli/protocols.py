"""`everlearn evaluate`: evaluate a trained learner on a protocol.

Every protocol of the registry becomes a command whose options are the fields of the protocol.
"""

import ast
import importlib.util
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Group, Parameter

from everlearn import files, reports, runs
from everlearn.cli.arguments import ANY_STREAM, StreamChoice, Whole
from everlearn.cli.output import CommandResult, Console, ConsoleArg
from everlearn.errors import BadInput
from everlearn.evaluation import protocols

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from everlearn.evaluation.protocols import Protocol
    from everlearn.evaluation.protocols import Result as ProtocolResult

MODEL = Group("Vision-language model", sort_key=1)
Out = Parameter(name=["--out", "-o"], show_default=False, metavar="FILE")

app = App(name="evaluate", help="Evaluate a trained learner on a protocol.")


def _evaluate(name: str) -> Callable[..., CommandResult]:
    """The command of a protocol that needs nothing but a record."""

    def command(record: Path, /, *, console: ConsoleArg, **options: Any) -> CommandResult:
        """The result is stored in the record.

        Args:
            record: Folder of the record.
            console: Shows progress.
            options: Options of the protocol.
        """
        protocol = protocols.get(name)(**options)
        result, data = _run(protocol, runs.Record(record), console)
        return CommandResult(save_result(runs.Record(record), protocol.name, data), lambda: _table(result))

    return command


def _multiple_choice(
    record: Annotated[Path | None, Parameter(show_default=False)] = None,
    /,
    stream: StreamChoice = ANY_STREAM,
    *,
    out: Annotated[Path | None, Out] = None,
    console: ConsoleArg,
    **options: Any,
) -> CommandResult:
    """Without a record, questions are about a stream, and only pixels and the model are evaluated.

    Args:
        record: Folder of a record whose learner has an exemplar memory.
        stream: Stream of the questions, if there is no record.
        out: .svg, .pdf or .png file for a figure of the results.
        options: Options of the protocol.
    """
    if record is not None and stream != ANY_STREAM:
        raise BadInput("a record has its own stream; leave out the stream options")
    if out is not None:
        files.check_output(out, reports.ENDINGS)
    protocol = protocols.get("multiple-choice")(**options)
    if record is None:
        with console.progress("Evaluating multiple-choice") as progress:
            result: ProtocolResult = protocol.run(None, stream.build(), 0, progress=progress)
        data = {"record": None, "learner": None, "tasks": 0, **result.to_json()}
    else:
        result, data = _run(protocol, runs.Record(record), console)
    data |= {"out": None if out is None else str(out)}
    if out is not None:
        _draw(protocol, result, out)
    return CommandResult(
        data if record is None else save_result(runs.Record(record), protocol.name, data),
        lambda: _table(result),
    )


def _online_offline(record: Path, /, *, console: ConsoleArg, **options: Any) -> CommandResult:
    """The second record is stored next to the first.

    Args:
        record: Folder of the record.
        options: Options of the protocol.
    """
    from everlearn.cli.run import rerun
    from everlearn.evaluation.protocols.online_offline import OnlineOffline, OnlineOfflineResult

    first, protocol = runs.Record(record), OnlineOffline(**options)
    epochs = 1 if first.spec["epochs"] > 1 else protocol.epochs
    both = sorted(
        (first, rerun(first, epochs=epochs, console=console)), key=lambda each: int(each.spec["epochs"])
    )
    online, offline = (reports.summary(reports.RunResults.from_record(each)) for each in both)
    result = OnlineOfflineResult(online=online, offline=offline)
    return CommandResult(save_result(first, protocol.name, result.to_json()), lambda: _table(result))


def load_trained(record: "runs.Record") -> "runs.RunState":
    """The run at its newest checkpoint; raises `BadInput` if no task is finished."""
    run = runs.load_run(record)
    if not run.n_tasks_done:
        raise BadInput(
            f"{record.folder} has no finished task yet; continue it with `everlearn resume {record.folder}`"
        )
    return run


def save_result(record: "runs.Record", protocol: str, data: dict[str, Any]) -> dict[str, Any]:
    """Store the result of a protocol in a record, with the record's digest, which shows if it is outdated."""
    from everlearn.runs.run_record import PROTOCOLS

    folder = record.folder / PROTOCOLS
    files.make_folder(folder)
    stored = {**data, "digest": record.digest}
    files.write(folder / f"{protocol}.json", json.dumps(stored, indent=1).encode() + b"\n")
    return stored


def _run(
    protocol: "Protocol[Any]", record: "runs.Record", console: Console
) -> "tuple[ProtocolResult, dict[str, Any]]":
    """The result of a protocol for the learner of a record, and its JSON."""
    run = load_trained(record)
    n_tasks, learner = run.n_tasks_done, run.spec.learner.name
    n_batches = list(reports.RunResults.from_record(record).n_batches.values())[:n_tasks]
    with console.progress(f"Evaluating {protocol.name}") as progress:
        result = protocol.run(
            run.learner, run.stream, n_tasks, n_batches=n_batches, learner_name=learner, progress=progress
        )
    return result, {"record": str(record.folder), "learner": learner, "tasks": n_tasks, **result.to_json()}


def _draw(protocol: "Protocol[Any]", result: "ProtocolResult", out: Path) -> None:
    from everlearn.plotting import STYLES, draw_parts, encode_figure, use_style

    (part,) = protocol.figures.values()
    with use_style(STYLES["light"]):
        figure = draw_parts([protocols.ResultGroup("", [result])], STYLES["light"], part)
        files.write(out, encode_figure(figure, out.suffix[1:].lower()))


def _table(result: "ProtocolResult") -> Any:
    from everlearn.cli.output import table

    headers, rows = result.table()
    return table(headers, [tuple(map(_text, row)) for row in rows])


def _text(value: Any) -> str:
    from everlearn.evaluation.formatting import DASH

    return f"{value:.4f}" if isinstance(value, float) else DASH if value is None else str(value)


def _command_function(name: str) -> Callable[..., CommandResult]:
    return _OWN_COMMANDS.get(name) or _evaluate(name)


def _command(name: str) -> Callable[..., CommandResult]:
    """The command of a protocol, with its options as parameters and its description as help."""
    protocol, command = protocols.get(name), _command_function(name)
    signature = inspect.signature(command)
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default,
            annotation=_annotation(name, field),
        )
        for name, field in protocol.model_fields.items()
    ]
    command.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    command.__annotations__ |= {each.name: each.annotation for each in options}
    command.__doc__ = f"{inspect.getdoc(protocol)}\n\n{inspect.getdoc(command)}"
    return command


def _annotation(name: str, field: "FieldInfo") -> Any:
    """The type of an option on the command line; lists are text with commas."""
    from everlearn.evaluation.vlm_client import VLMOptions

    kind: Any = Whole if field.annotation is int else field.annotation
    kind = str if isinstance(field.default, tuple) else kind
    show = field.default not in (None, ())
    annotation = Annotated[kind, Parameter(help=field.description, show_default=show)]
    return Annotated[annotation, Parameter(group=MODEL)] if name in VLMOptions.model_fields else annotation


def add_protocol(name: str) -> None:
    """Add the command of a protocol from outside the package, by its name."""
    app.command(_command(name), name=name)


def _help(name: str) -> str:
    """The help of a protocol, from the source of its module, which is not imported."""
    module, _, class_name = protocols.REGISTRY.builtin[name].partition(":")
    loader: Any = importlib.util.find_spec(module).loader  # type: ignore[union-attr]
    body = ast.parse(loader.get_source(module)).body
    (protocol,) = (node for node in body if isinstance(node, ast.ClassDef) and node.name == class_name)
    own = str(inspect.getdoc(_command_function(name))).partition("\n\nArgs:")[0]
    return f"{ast.get_docstring(protocol)}\n\n{own}"


def __getattr__(name: str) -> Callable[..., CommandResult]:
    """The command of a protocol, which is built when it is used."""
    if name not in protocols.REGISTRY.builtin:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _command(name)


_OWN_COMMANDS = {"multiple-choice": _multiple_choice, "online-offline": _online_offline}
for _name in protocols.REGISTRY.builtin:
    app.command(f"{__name__}:{_name}", name=_name, help=_help(_name))
