"""Run, resume and compare, and the `Record` of a run with its figures and its trained learner."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from everlearn import learners, reports, runs, streams
from everlearn.errors import BadInput
from everlearn.learners import Learner
from everlearn.reports import Comparison, Plot
from everlearn.runs import RunSpec
from everlearn.runs.progress import follow_progress
from everlearn.streams import Stream
from everlearn.streams.settings import StreamSettings

RECORDS = Path("records")
"""Default folder of records."""
SUMMARY = ("learner", "stream", "tasks", "average_accuracy", "forgetting", "seconds", "digest")
"""The values of a record that a notebook shows."""

LearnerLike = str | type[Learner]
StreamLike = str | Stream | StreamSettings | Callable[..., Stream]


class Record(runs.Record):
    """The record of one run: results, figures and the trained learner.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> run = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> record = everlearn.Record(folder)
        >>> record.scores
        <ScoreTable: 3 scores on 2 tasks>
        >>> record.learner().predict(record.stream().task(1).test.images).shape
        (10,)
    """

    def plot(self, name: str = "accuracy", *, style: str = "light") -> Plot:
        """A figure of this run, such as "accuracy", "forgetting" or "scores"; a notebook shows it."""
        return reports.compare([self]).plot(name, style=style)

    def learner(self) -> Learner:
        """The trained learner at its newest checkpoint, for predictions."""
        return runs.load_run(self).learner

    def stream(self) -> Stream:
        """The stream that the learner was trained on."""
        return RunSpec.from_record(self).stream.build()

    def summary(self) -> dict[str, Any]:
        """Specification, progress and metrics of the run as plain values."""
        return reports.summary(reports.RunResults.from_record(self))

    def _repr_html_(self) -> str:
        values = self.summary()
        rows = "".join(f"<tr><th>{name}</th><td>{escape(str(values[name]))}</td></tr>" for name in SUMMARY)
        figure = self.plot()._repr_svg_() if values["average_accuracy"] is not None else ""
        return f"<table>{rows}</table>{figure[figure.find('<svg') :] if figure else ''}"


def run(
    learner: LearnerLike,
    stream: StreamLike = "sprites",
    *,
    tasks: int | None = None,
    epochs: int = 1,
    batch_size: int = 64,
    seed: int = 0,
    record: Path | str | None = None,
    learner_settings: Mapping[str, Any] | None = None,
    stream_settings: Mapping[str, Any] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: bool = True,
) -> Record:
    """Train a learner on a stream and record the run; Ctrl-C saves it, and `resume` continues it.

    Args:
        learner: a name such as "er", a class, "package.module:Class" or "file.py:Class".
        stream: a name such as "sprites", a `Stream`, a function that builds one, or a reference to it.
        tasks: number of tasks; default: all of the stream, 20 of an infinite one.
        epochs: passes over each task.
        batch_size: images per training step.
        seed: seed of the order of images and of the learner.
        record: a new folder for the record; default: one in records/.
        learner_settings: settings of the learner, such as {"memory_size": 500}.
        stream_settings: settings of the stream, such as {"image_size": 32}; not for a `Stream` object.
        device: auto, cpu, cuda, cuda:N or mps.
        threads: CPU threads of torch; default: 1 for small networks, else measured at the start.
        progress: show a progress bar.

    Example:
        >>> import everlearn, tempfile
        >>> folder = tempfile.mkdtemp() + "/nearest"
        >>> settings = {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run(
        ...     "nearest", "sprites", tasks=2, stream_settings=settings, record=folder, progress=False
        ... )
        >>> record
        <record nearest: nearest, 2 tasks>
        >>> record.scores
        <ScoreTable: 3 scores on 2 tasks>
    """
    spec = RunSpec(
        stream=_stream_settings(stream, stream_settings),
        learner={
            "name": learner if isinstance(learner, str) else learners.REGISTRY.reference(learner),
            "settings": dict(learner_settings or {}),
        },
        n_tasks=tasks,
        epochs=epochs,
        batch_size=batch_size,
        seed=seed,
        device=device,
        threads=threads,
    )
    folder = _new_folder(spec) if record is None else runs.check_folder(record)
    return _finish(runs.record(spec, folder), folder, progress=progress)


def resume(folder: Path | str, *, progress: bool = True) -> Record:
    """Continue a recorded run from its newest checkpoint; a finished one is returned as it is.

    Args:
        folder: the record.
        progress: show a progress bar.

    Example:
        >>> import everlearn, tempfile
        >>> folder, settings = tempfile.mkdtemp(), {"stream.image_size": 16, "stream.factor_values": 2}
        >>> spec = everlearn.RunSpec.make(learner="nearest", settings={**settings, "n_tasks": 2})
        >>> events = everlearn.runs.record(spec, folder)
        >>> while next(events).kind != "task-ended": pass
        >>> events.close()  # an interruption after the first task
        >>> resume(folder, progress=False).n_tasks_done
        2
    """
    return _finish(runs.resume(folder), Path(folder), progress=progress)


def compare(
    records: "Iterable[runs.Record | Path | str] | runs.Record | Path | str", *, metrics: Iterable[str] = ()
) -> Comparison:
    """A table of runs; runs that differ only in their seeds share a row.

    A terminal prints it, a notebook renders it; `to_pandas`, `to_latex`, `to_markdown` and `to_csv` convert
    it. Its `notes` define ± and list the records that were not counted.

    Args:
        records: records, their folders, or folders of records; or one of these.
        metrics: further metrics of the score table, such as "my_metrics.py:my_metric".

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> for seed in (0, 1):
        ...     record = everlearn.run(
        ...         "nearest", tasks=2, seed=seed, stream_settings=small, record=f"{folder}/{seed}",
        ...         progress=False,
        ...     )
        >>> [(row["learner"], row["seeds"]) for row in compare([folder]).rows]
        [('nearest', [0, 1])]
    """
    found: list[runs.Record] = []
    for each in [records] if isinstance(records, runs.Record | Path | str) else records:
        if isinstance(each, runs.Record):
            found.append(each)
        else:
            path = runs.check_folder(each)
            found += [runs.Record(path)] if runs.has_record(path) else runs.list_records(path)
    return reports.compare(found, tuple(metrics))


def _stream_settings(stream: StreamLike, settings: Mapping[str, Any] | None) -> StreamSettings:
    given = dict(settings or {})
    if isinstance(stream, str):
        return streams.from_mapping({"stream": stream, **given})
    if isinstance(stream, Stream | StreamSettings):
        if given:
            raise BadInput(
                "stream_settings are given with a stream that is built; give them when you build it"
            )
        spec = getattr(stream, "spec", None) if isinstance(stream, Stream) else stream
        if not isinstance(spec, StreamSettings):
            raise BadInput(
                f"{type(stream).__name__} has no settings from which a resumed run could build it; give its "
                "class, or a function that builds it"
            )
        return spec
    return streams.from_mapping({"stream": streams.REGISTRY.reference(stream), **given})


def _new_folder(spec: RunSpec) -> Path:
    first = RECORDS / runs.folder_name(spec.title, spec.hash)
    numbered = (first.with_name(f"{first.name}-{number}") for number in range(2, 10_000))
    return next(folder for folder in (first, *numbered) if not folder.exists())


def _finish(events: Iterator[Any], folder: Path, *, progress: bool) -> Record:
    record = Record(folder)
    with _bar(record, shown=progress) as update:
        for done, n_tasks, accuracy in follow_progress(events, record):
            update(done, n_tasks, "" if accuracy is None else f"accuracy {accuracy:.3f}")
    return record


@contextmanager
def _bar(record: Record, *, shown: bool) -> Iterator[Callable[[float, int | None, str], None]]:
    """A progress bar in a terminal or a notebook."""
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    columns = bars.Progress.get_default_columns()[:3]
    disabled = not shown or not (console.is_terminal or console.is_jupyter)
    note = bars.TextColumn("{task.fields[note]}")
    with bars.Progress(*columns, note, console=console, disable=disabled) as progress:
        task = progress.add_task(f"{record.spec['learner']['name']}, tasks", total=None, note="")
        yield lambda done, total, text: progress.update(task, completed=done, total=total, note=text)
