"""Checks of learners: prediction, determinism, saving and loading, labels and memory accounting.

Each check takes a `Trial`, which trains learners of one class on a small stream, and raises `BrokenContract`.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch

from everlearn.errors import BadInput
from everlearn.learners import REGISTRY, Encodes, Learner
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch, Stream, Task, sprites
from everlearn.testing.contract import BrokenContract, ensure

CUTS = (0, 1, 2, 5)
"""Batches of a task after which a learner is saved and loaded."""
MAX_OVERHEAD = 1.1
"""Bytes that a learner may report, relative to the bytes of its state."""


class Trial:
    """Learners of one class, trained on the same small tasks.

    Example:
        >>> trial = make_trial("nearest")
        >>> learner = trial.train(trial.fresh(), trial.stream.task(0))
        >>> len(learner.predict(trial.images))
        3
    """

    def __init__(self, cls: type[Learner], settings: Mapping[str, Any], stream: Stream) -> None:
        self.cls, self.settings, self.stream = cls, settings, stream
        self.images = stream.task(0).test.images
        self._states: dict[tuple[int, ...], bytes] = {}

    def fresh(self, seed: int = 0) -> Learner:
        """An untrained learner."""
        settings = {**self.cls.tiny_settings, **self.settings}
        return self.cls(image_shape=self.stream.image_shape, seed=seed, **settings)

    def train(self, learner: Learner, task: Task, n_batches: int = 3) -> Learner:
        """The learner after a few batches of a task."""
        view = task.for_learner()
        learner.begin(view)
        for batch in list(view.train.shuffled(0, task.index).batches(8))[:n_batches]:
            learner.learn(batch)
        learner.end(view)
        return learner

    def state_after(self, *tasks: int) -> bytes:
        """The packed state of a learner after some tasks."""
        if tasks not in self._states:
            learner = self.fresh()
            for k in tasks:
                self.train(learner, self.stream.task(k))
            self._states[tasks] = pack(learner.state())
        return self._states[tasks]

    def loaded(self, state: bytes) -> Learner:
        """A learner with a state, loaded over the state after another task."""
        learner = self.fresh()
        learner.load(unpack(self.state_after(3)))
        learner.load(unpack(state))
        return learner

    @property
    def trained(self) -> Learner:
        """A new learner with the state after two tasks."""
        return self.loaded(self.state_after(0, 1))

    @cached_property
    def name(self) -> str:
        """The class, for messages."""
        return self.cls.__name__


def predicts(trial: Trial) -> None:
    """Predictions are integers, -1 before training, independent of the batch, and change no state."""
    name, images = trial.name, trial.images
    first = trial.fresh().predict(images)
    ensure((first == -1).all(), f"{name}.predict gives labels before anything is learned; give -1")
    learner = trial.trained
    before, predictions = digest(learner.state()), learner.predict(images)
    ensure(
        isinstance(predictions, np.ndarray)
        and predictions.dtype == np.int64
        and predictions.shape == (len(images),),
        f"{name}.predict gives {_describe(predictions)} for {len(images)} images; give int64 labels",
    )
    single = np.concatenate([learner.predict(images[i : i + 1]) for i in range(len(images))])
    ensure((single == predictions).all(), f"{name}.predict depends on the other images of the batch")
    none = learner.predict(images[:0])
    ensure(none.shape == (0,) and none.dtype == np.int64, f"{name}.predict must give no labels for no images")
    ensure(digest(learner.state()) == before, f"{name}.predict changes the state of the learner")
    if not learner.is_classifier:
        ensure(isinstance(learner, Encodes), f"{name} is not a classifier, so it must have encode(images)")
        ensure((predictions == -1).all(), f"{name} is not a classifier, so predict must return -1")


def leaves_batches_alone(trial: Trial) -> None:
    """Training gives finite losses and neither changes a batch nor keeps a reference to it."""
    name, learner, task = trial.name, trial.fresh(), trial.stream.task(0)
    batch = task.train[np.arange(8)]
    learner.begin(task.for_learner())
    losses = learner.learn(batch)
    finite = isinstance(losses, dict) and all(
        isinstance(each, float | torch.Tensor) and np.isfinite(float(each)) for each in losses.values()
    )
    ensure(losses and finite, f"{name}.learn gives {losses!r:.80}; give a dictionary of finite losses")
    ensure(batch == task.train[np.arange(8)], f"{name}.learn changes the images or labels of the batch")
    before = digest(learner.state())
    batch.images[:] = 0
    batch.labels[:] = 0
    ensure(digest(learner.state()) == before, f"{name} keeps a reference to the batch; store a copy")


def is_determined_by_its_seed(trial: Trial) -> None:
    """Equal seeds give equal states; torch's global random numbers are neither used nor changed."""
    name, task = trial.name, trial.stream.task(0)
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one = trial.train(trial.fresh(seed=5), task)
    unchanged = torch.equal(torch.random.get_rng_state(), before)
    ensure(
        unchanged, f"{name} changes torch's global random numbers; use everlearn.networks.seeded or rng_at"
    )
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002  (the point is to disturb it)
    two = trial.train(trial.fresh(seed=5), task)
    same = digest(one.state()) == digest(two.state())
    ensure(same, f"two runs of {name} with the same seed differ; draw all random numbers from its seed")


def can_be_saved(trial: Trial) -> None:
    """A loaded learner equals the saved one, and a state is a copy."""
    name, stream = trial.name, trial.stream
    learner = trial.train(trial.train(trial.fresh(), stream.task(0)), stream.task(1))
    state = learner.state()
    other, before = trial.loaded(pack(state)), digest(state)
    ensure(digest(other.state()) == before, f"{name}.load does not restore everything that state gives")
    same = (other.predict(trial.images) == learner.predict(trial.images)).all()
    ensure(same, f"a loaded {name} predicts other labels; declare all that it learns in parts and counters")
    ensure(other.footprint() == learner.footprint(), f"a loaded {name} has another footprint")
    ensure(other.flops == learner.flops, f"a loaded {name} has another number of FLOPs")
    trial.train(learner, stream.task(2))
    ensure(digest(state) == before, f"{name}.state gives references; training on changes a saved state")


def resumes_within_a_task(trial: Trial) -> None:
    """A run that is saved and loaded between batches ends in the same state."""

    def state(cuts: tuple[int, ...]) -> str:
        learner = trial.train(trial.fresh(), trial.stream.task(0))
        view = trial.stream.task(1).for_learner()
        learner.begin(view)
        for number, batch in enumerate(list(view.train.batches(6))[: CUTS[-1] + 1]):
            learner.learn(batch)
            if number in cuts:
                learner = trial.loaded(pack(learner.state()))
        learner.end(view)
        return digest(learner.state())

    same = state(CUTS) == state(())
    ensure(same, f"{trial.name} ends differently if it is saved and loaded within a task; declare its state")


def reports_its_memory(trial: Trial) -> None:
    """The footprint is positive and not larger than the state."""
    learner = trial.trained
    footprint, state = learner.footprint(), learner.state()
    # A state may contain only a digest of frozen weights.
    backbone: Any = getattr(learner, "backbone", None)
    frozen = backbone.footprint().weights if "digest" in (state.get("backbone") or {}) else 0
    total = footprint.weights + footprint.memory
    ensure(
        min(footprint.weights, footprint.memory) >= 0 and total > 0,
        f"{trial.name}.footprint is {footprint}; it must count what is stored",
    )
    fits = total <= MAX_OVERHEAD * (len(pack(state)) + frozen)
    ensure(fits, f"{trial.name}.footprint counts {total} bytes, more than its state has")


def accepts_any_labels(trial: Trial) -> None:
    """Labels are any integers, new ones come with each task, and only seen labels are predicted."""
    stream, task, learner = trial.stream, trial.stream.task(3), trial.trained
    moved = {label: 10**12 + 7 * label for label in task.labels}

    def renamed(batch: Batch) -> Batch:
        labels = np.array([moved[x] for x in batch.labels.tolist()], np.int64)
        return Batch(batch.images, labels, batch.factors)

    view = Task(3, tuple(moved.values()), lambda s: renamed(task.split(s)), lambda: renamed(task.exemplars))
    trial.train(learner, view, n_batches=8)
    known = {
        *stream.task(0).labels,
        *stream.task(1).labels,
        *moved.values(),
        *(() if learner.is_classifier else (-1,)),
    }
    unseen = set(learner.predict(task.train.images).tolist()) - known
    ensure(not unseen, f"{trial.name} predicts {sorted(unseen)[:3]}, which are not labels that it has seen")


LEARNER_CHECKS: tuple[Callable[[Trial], None], ...] = (
    predicts,
    leaves_batches_alone,
    is_determined_by_its_seed,
    can_be_saved,
    resumes_within_a_task,
    reports_its_memory,
    accepts_any_labels,
)
"""All checks; the docstring of each states the promise."""


def make_trial(learner: "type[Learner] | str", **settings: Any) -> Trial:
    """A trial of a learner, given as a class, a name or a reference.

    Example:
        >>> trial = make_trial("er", memory_size=10)
        >>> trial.fresh().buffer
        <Reservoir: 0 of at most 10 images, 0 seen>
    """
    cls = REGISTRY.get(learner) if isinstance(learner, str) else REGISTRY.get(REGISTRY.reference(learner))
    return Trial(cls, settings, sprites(image_size=16, classes_per_task=3, factor_values=2, n_tasks=4))


def check_learner(learner: "type[Learner] | str", **settings: Any) -> list[str]:
    """Check that a learner keeps all promises; returns them, or raises `BrokenContract` for the first.

    Args:
        learner: a class, a short name, "package.module:Class" or "file.py:Class".
        settings: settings of the learner; default: its `tiny_settings`.

    Example:
        >>> check_learner("nearest")[-1]
        'Labels are any integers, new ones come with each task, and only seen labels are predicted.'
    """
    trial = make_trial(learner, **settings)
    return [run_check(check, trial) for check in LEARNER_CHECKS]


def run_check(check: Callable[[Any], None], trial: Any) -> str:
    """Run one check and return the promise; other errors become a `BrokenContract` too.

    Example:
        >>> run_check(LEARNER_CHECKS[0], make_trial("nearest"))
        'Predictions are integers, -1 before training, independent of the batch, and change no state.'
    """
    try:
        check(trial)
    except BadInput:
        raise
    except Exception as error:
        raise BrokenContract(
            f"{trial.name} fails in the check {check.__name__}: {type(error).__name__}: {error}"
        ) from error
    return (check.__doc__ or "").strip().splitlines()[0]


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with the shape {value.shape}"
    return f"a {type(value).__name__}"
