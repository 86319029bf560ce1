"""Load the learner of a record, and edit its exemplar memory."""

from collections.abc import Callable, Sequence

from everlearn.errors import BadInput
from everlearn.learners.capabilities import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs.events import MemoryAction, MemoryEdited
from everlearn.runs.loop import RunState
from everlearn.runs.recorder import Recorder
from everlearn.runs.run_record import Record, RecordLock
from everlearn.runs.spec import RunSpec
from everlearn.streams.images.canonical import cut_out, drawn_like
from everlearn.streams.images.decode import Pixels
from everlearn.streams.scenario_stream import ScenarioStream
from everlearn.streams.stream import Images

Edit = tuple[MemoryAction, Callable[[ExemplarMemory], int]]
"""An action, and a function that applies it and returns the edited label."""


def load_run(record: Record) -> RunState:
    """The run at its newest usable checkpoint; nothing on disk changes.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=2, stream_settings=small, record=folder, progress=False)
        >>> run = load_run(record)
        >>> run.n_tasks_done, type(run.learner).__name__
        (2, 'NearestMeanImage')
    """
    run, problems = RunState(RunSpec.from_record(record), resumed=True), []
    for number in record.checkpoints.newest_first():
        try:
            run.load(record.checkpoints.read(number)["run"])
        except BadInput as error:
            problems.append(f"checkpoint {number}: {error}")
        else:
            return run
    if problems:
        raise record.checkpoints.unusable("; ".join(problems))
    raise BadInput(
        f"{record.folder} has no checkpoint yet; continue the run with `everlearn resume {record.folder}`"
    )


def exemplar_of(run: RunState, image: Pixels) -> Images:
    """The object in an image (H, W, 4), in the style of the exemplars of the run's stream.

    Example:
        >>> import everlearn, numpy as np, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2}
        >>> record = everlearn.run("nearest", tasks=1, stream_settings=small, record=folder, progress=False)
        >>> exemplar_of(load_run(record), np.full((40, 40, 4), 255, np.uint8)).shape
        (16, 16)
    """
    return drawn_like(cut_out(image), run.stream.task(0).exemplars.images)


class ClassNames:
    """Names of the classes in the memory of a run's learner.

    The name is that given by a user, else that of the class in the stream, such as the name of a folder.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2, "classes_per_task": 2}
        >>> record = everlearn.run("dcl", tasks=1, stream_settings=small, record=folder, progress=False)
        >>> names = ClassNames(load_run(record))
        >>> names.name(1), names.all()
        ('1', {0: '0', 1: '1'})
    """

    def __init__(self, run: RunState) -> None:
        self.run, self.stream = run, run.stream
        self._n_named = _n_named_classes(run)

    @property
    def memory(self) -> ExemplarMemory:
        """The memory; raises an error if the learner has none, such as `vase`."""
        return editable_memory(self.run.learner)

    def name(self, label: int) -> str:
        """The name of a class; its label if it has none."""
        name = self.memory.name(label)
        if name == str(label) and label < self._n_named and isinstance(self.stream, ScenarioStream):
            return self.stream.source.class_name(label)
        return name

    def all(self) -> dict[int, str]:
        """The name of each class in the memory, by label."""
        return {label: self.name(label) for label in self.memory.classes()}


def _n_named_classes(run: RunState) -> int:
    """Number of labels, from 0 on, that are classes of the stream which the run has seen."""
    stream = run.stream
    if not run.n_tasks_done or not isinstance(stream, ScenarioStream) or stream.source.n_classes is None:
        return 0
    is_class = stream.scenario.label_map.modulus is None and not stream.scenario.label_map.table
    return stream.scenario.seen_classes(run.n_tasks_done).n_first if is_class else 0


def edit_memory(record: Record, edits: Sequence[Edit]) -> list[MemoryEdited]:
    """Edit the memory of a record's learner and save it; earlier checkpoints are deleted.

    The edits are applied to a copy first, so that an invalid one changes no file. An unfinished run continues
    with the edited memory.

    Example:
        >>> import everlearn, tempfile
        >>> folder, small = tempfile.mkdtemp(), {"image_size": 16, "factor_values": 2, "classes_per_task": 2}
        >>> record = everlearn.run("dcl", tasks=1, stream_settings=small, record=folder, progress=False)
        >>> edit_memory(record, [("forget", lambda memory: memory.forget(1) and 1)])[0].n_images
        0
        >>> record.learner().memory
        <ExemplarMemory: 1 images of 1 classes>
    """
    memory = editable_memory(load_run(record).learner)
    for _, apply in edits:
        apply(memory)
    run = RunState(RunSpec.from_record(record), resumed=True)
    with RecordLock(record.folder), Recorder(record, run) as recorder:
        events = [_event(run, action, apply(editable_memory(run.learner))) for action, apply in edits]
        for event in events:
            recorder.handle(event)
        recorder.save_checkpoint()
        record.checkpoints.delete_older()
        if run.n_tasks_done == run.n_tasks:
            recorder.handle(run.run_ended())
    return events


def _event(run: RunState, action: MemoryAction, label: int) -> MemoryEdited:
    memory = editable_memory(run.learner)
    return MemoryEdited(
        n_tasks=run.n_tasks_done,
        action=action,
        label=label,
        n_images=len(memory.images_of(label)) if label in memory else 0,
        memory_bytes=run.learner.footprint().memory,
    )
