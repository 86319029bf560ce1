"""What is to be done, and what of it is still missing. The records are the only place where that is kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.runs.differences import differences
from everlearn.runs.names import check_folder, check_name
from everlearn.runs.records import SPEC, Record, begin, check_free
from everlearn.runs.spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run, where its record is, and what is asked of its learner afterwards.

    Attributes:
        spec: what is played.
        folder: where the record is, or will be.
        asks: protocols, each in the words that `everlearn protocol` takes, without the record.
        name: what people call the run; it decides nothing.
        seconds: how long all of it takes on one core, if that is known.

    Example:
        >>> spec = RunSpec.make(learner="nearest", settings={"n_tasks": 2})
        >>> job = Job(spec=spec, folder=Path("records/none-yet"), asks=(("oneshot", "--new", "10"),))
        >>> [" ".join(act.words) for act in missing(job)]
        ['resume records/none-yet', 'protocol oneshot records/none-yet --new 10']
    """

    spec: RunSpec
    folder: Path
    asks: tuple[tuple[str, ...], ...] = ()
    name: str | None = None
    seconds: float | None = None

    @property
    def title(self) -> str:
        """What it is called on a screen; a name may be shared by the runs of several seeds."""
        return self.folder.name

    @property
    def names(self) -> tuple[str, str]:
        """What it is called, and the folder of its record, as events say them."""
        return self.title, str(self.folder)

    def record(self) -> Record | None:
        """The record, once there is one."""
        return Record(self.folder) if (self.folder / SPEC).is_file() else None

    def begin(self) -> None:
        """Make the record, if there is none yet; whoever plays it then goes on from its beginning."""
        if self.record() is None:
            begin(self.folder, self.spec.to_json(), self.name)


@dataclass(frozen=True)
class Act:
    """A part of a job that is done in one go: a command of everlearn.

    Attributes:
        doing: two words for people.
        words: the command.
    """

    doing: str
    words: tuple[str, ...]


def missing(job: Job) -> tuple[Act, ...]:
    """What is left to do of a job, in order; nothing if it is finished."""
    folder, record = str(job.folder), job.record()
    asks = {name: Act(f"asking {name}", ("protocol", name, folder, *rest)) for name, *rest in job.asks}
    if record is None or not record.is_finished:
        return (Act("playing", ("resume", folder)), *asks.values())
    answers = record.answers() if asks else {}
    return tuple(act for question, act in asks.items() if question not in answers)


def check(jobs: Iterable[Job]) -> Sequence[Job]:
    """The jobs themselves, or a complaint about the first that could never be done."""
    seen: dict[Path, Job] = {}
    for job in jobs:
        _check_place(job)
        _check_asks(job)
        if seen.setdefault(job.folder.absolute(), job) is not job:
            raise BadInput(f"two jobs have the folder {job.folder}; give each its own")
    return tuple(seen.values())


def _check_place(job: Job) -> None:
    check_folder(job.folder)
    if job.name is not None:
        check_name(job.name)
    record = job.record()
    if record is None:
        check_free(job.folder)
    elif changed := differences(record.spec, job.spec.to_mapping()):
        raise BadInput(f"{job.folder} plays something else: {'; '.join(changed)}; choose a new folder")


def _check_asks(job: Job) -> None:
    questions = [ask[0] for ask in job.asks if ask]
    if len(questions) < len(job.asks):
        raise BadInput(f"{job.title} asks nothing in one of its asks; write words such as oneshot --new 10")
    if len(set(questions)) < len(questions):
        raise BadInput(f"{job.title} asks one question twice; a record keeps one answer to each")
