from functools import cache

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.learners import EditsMemory, EstimatesFactors, Rejects
from everlearn.learners.dcl import DCL
from everlearn.learners.old_base.recognition import Recognition
from everlearn.serialization import pack
from everlearn.streams import Batch, Stream, sprites
from everlearn.streams.stream import Images

STREAM = sprites(image_size=32, classes_per_task=5, factor_values=4)
N_TASKS = 3


def taught(stream: Stream, n_batches: int, **settings: object) -> DCL:
    learner = DCL(image_shape=stream.task(0).exemplars.images.shape[1:], width=8, **settings)  # type: ignore[arg-type]
    for task in stream.take(N_TASKS):
        view = task.for_learner()
        learner.begin(view)
        for batch in list(view.train.shuffled(0, task.index).pieces(32))[:n_batches]:
            learner.learn(Batch(batch.images, batch.labels) if "pose_supervision" in settings else batch)
        learner.end(view)
    return learner


@cache
def state_of_an_expert() -> bytes:
    return pack(taught(STREAM, 40).state())


@pytest.fixture
def expert() -> DCL:
    from everlearn.serialization import unpack

    learner = DCL(image_shape=(32, 32), width=8)
    learner.load(unpack(state_of_an_expert()))
    return learner


def accuracy(learner: DCL, batch: Batch) -> float:
    return float(np.mean(learner.predict(batch.images) == batch.labels))


def probe(size: int = 200) -> Batch:
    return STREAM.probe(N_TASKS, size)


def test_it_learns_and_forgets_nothing(expert: DCL) -> None:
    assert accuracy(expert, probe()) > 0.95
    assert accuracy(expert, STREAM.task(0).test) > 0.9


def test_it_has_the_powers_it_claims(expert: DCL) -> None:
    assert isinstance(expert, Rejects)
    assert isinstance(expert, EditsMemory)
    assert isinstance(expert, EstimatesFactors)


def test_it_says_where_things_are(expert: DCL) -> None:
    batch = probe()
    assert batch.factors is not None
    errors = np.abs(expert.estimate(batch.images).array() - batch.factors.array())
    errors[:, 1] = np.minimum(errors[:, 1], 2 * np.pi - errors[:, 1])
    assert (np.median(errors, axis=0) < [0.01, 0.01, 0.005, 0.005]).all()


def test_each_part_of_the_answer_is_worth_having(expert: DCL) -> None:
    """Checking candidates must beat plain normalisation, and looking again must beat looking once."""
    batch = probe(400)
    full = accuracy(expert, batch)
    expert.candidates = 0
    expert.changed()
    plain = accuracy(expert, batch)
    expert.looks = 1
    expert.changed()
    assert accuracy(expert, batch) < plain < full


def test_a_class_is_taught_with_one_image(expert: DCL) -> None:
    task = STREAM.task(N_TASKS)
    assert accuracy(expert, task.test) == 0
    expert.memory.add(task.exemplars)
    assert accuracy(expert, task.test) > 0.9


def test_an_erased_class_is_gone_from_answers_and_bytes(expert: DCL) -> None:
    task = STREAM.task(1)
    label = task.labels[0]
    image = expert.memory.images_of(label)[0].tobytes()
    shown = task.test.images[task.test.labels == label]
    assert label in expert.predict(shown)
    assert image in pack(expert.state())
    expert.memory.rename(label, "a name to be erased")
    expert.memory.forget(label)
    assert label not in expert.predict(shown)
    assert label not in expert.predict(probe(400).images)
    assert image not in pack(expert.state())
    assert b"a name to be erased" not in pack(expert.state())


def test_erasing_one_class_leaves_the_others(expert: DCL) -> None:
    batch, label = probe(), STREAM.task(0).labels[0]
    before = expert.predict(batch.images)
    expert.memory.forget(label)
    after = expert.predict(batch.images)
    assert (after == before)[before != label].all()


def test_a_memory_emptied_by_hand_knows_nothing(expert: DCL) -> None:
    for label in expert.memory.classes():
        expert.memory.forget(label)
    images = probe(4).images
    assert (expert.predict(images) == -1).all()
    assert (expert.novelty(images) == 1).all()
    assert len(expert.estimate(images)) == len(images)


def test_another_memory_can_be_put_in_its_place(expert: DCL) -> None:
    from everlearn.memory import ExemplarMemory

    task = STREAM.task(N_TASKS)
    expert.predict(task.test.images)
    expert.memory = ExemplarMemory()
    expert.memory.add(task.exemplars)
    assert accuracy(expert, task.test) > 0.95


def test_what_is_new_is_told_from_what_is_known(expert: DCL) -> None:
    known, new = expert.novelty(probe().images), expert.novelty(STREAM.task(50).test.images)
    wins = np.mean(new[:, None] > known[None, :])
    assert wins > 0.95
    assert ((known >= 0) & (known <= 1)).all()
    assert np.mean(known > 0.5) < 0.06


def test_it_may_say_that_it_does_not_know(expert: DCL) -> None:
    strangers, familiar = STREAM.task(50).test.images, probe()
    assert np.mean(expert.predict(strangers, reject=True) == -1) > 0.7
    answers = expert.predict(familiar.images, reject=True)
    assert np.mean(answers == -1) < 0.06
    assert set(answers.tolist()) <= {-1, *expert.memory.classes()}


@pytest.mark.parametrize("rgb", [False, True])
def test_exemplars_alone_teach_it(rgb: bool) -> None:
    stream = sprites(image_size=32, classes_per_task=5, factor_values=4, rgb=rgb)
    learner = taught(stream, 60, pose_supervision="exemplars")
    assert accuracy(learner, stream.probe(N_TASKS, 200)) > 0.6


def test_without_factors_it_says_what_to_do() -> None:
    batch = STREAM.task(0).train[:4]
    with pytest.raises(BadInput, match="'exemplars'"):
        DCL(image_shape=(32, 32)).learn(Batch(batch.images, batch.labels))


@pytest.mark.parametrize(
    "settings",
    [{"pose_supervision": "none"}, {"averaging": 1.0}, {"looks": 0}, {"candidates": -1}, {"block": 0}],
)
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=next(iter(settings))):
        DCL(image_shape=(32, 32), **settings)  # type: ignore[arg-type]


def test_what_does_not_surprise_is_not_learned(expert: DCL) -> None:
    expert.surprise = 10.0
    steps, batch = expert.n_steps, STREAM.task(0).train[:32]
    told = [expert.learn(batch)["trained"] for _ in range(12)]
    assert told == [0.0] * 12
    assert expert.n_steps == steps
    expert.surprise, expert.n_calm = 0.0, 0
    assert expert.learn(batch)["trained"] == 1.0
    assert expert.n_steps == steps + 1


def test_classes_without_exemplar_are_remembered_as_first_seen() -> None:
    """The first image is brought to the canonical frame by its true pose."""
    task, learner = STREAM.task(0), DCL(image_shape=(32, 32))
    learner.learn(task.train)
    assert learner.memory.classes() == list(task.labels)
    known = np.concatenate([learner.memory.images_of(label) for label in task.labels]).astype(float)
    own, others = known - task.exemplars.images, known - np.roll(task.exemplars.images, 1, axis=0)
    assert np.abs(own).mean() < 0.6 * np.abs(others).mean()


def test_recurring_exemplars_are_not_remembered_twice() -> None:
    learner, view = DCL.tiny(image_shape=(32, 32)), STREAM.task(0).for_learner()
    learner.begin(view)
    learner.begin(view)
    assert len(learner.memory) == len(view.exemplars)


def recognition(label: int, misfit: float, rival: float) -> Recognition:
    return Recognition(np.array([label]), np.full((1, 4), misfit), np.array([misfit]), np.array([rival]))


def test_the_better_of_two_tries_has_a_rival_of_another_class() -> None:
    better = recognition(1, 5.0, 9.0).or_better(recognition(2, 3.0, 5.0))
    assert (better.labels[0], better.misfits[0], better.rivals[0], better.poses[0, 0]) == (2, 3.0, 5.0, 3.0)
    kept = recognition(1, 2.0, 9.0).or_better(recognition(1, 3.0, 4.0))
    assert (kept.labels[0], kept.misfits[0], kept.rivals[0]) == (1, 2.0, 4.0)


def test_without_a_rival_there_is_no_ratio_to_trust() -> None:
    assert recognition(1, 5.0, np.inf).ratios == [1.0]


def test_asking_twice_is_answered_from_memory(expert: DCL, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = probe(10)
    first = expert.predict(batch.images)

    def never(images: Images) -> Recognition:
        raise AssertionError("recognised twice")

    monkeypatch.setattr(expert, "recognise", never)
    assert (expert.predict(batch.images.copy()) == first).all()
    expert.memory.forget(int(first[0]))
    with pytest.raises(AssertionError, match="twice"):
        expert.predict(batch.images)


def test_turns_find_things_that_have_no_up() -> None:
    """Without the marker nothing tells up from down, so that the network cannot see angles."""
    stream = sprites(image_size=32, classes_per_task=5, marker=False, angle={"low": 0.0, "high": 6.28})
    one, many = (taught(stream, 30, pose_supervision="exemplars", turns=turns) for turns in (1, 16))
    batch = stream.probe(N_TASKS, 100)
    assert accuracy(many, batch) > accuracy(one, batch) + 0.1
    assert accuracy(many, batch) > 0.6


def test_says_what_it_is_given_with_these_settings() -> None:
    assert DCL.tiny().supervision == "labelled images, factor labels, exemplars"
    assert DCL(image_shape=(16, 16), pose_supervision="exemplars").supervision == "labelled images, exemplars"
