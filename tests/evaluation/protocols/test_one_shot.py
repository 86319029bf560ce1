import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.one_shot import OneShot
from everlearn.learners import build
from everlearn.learners.capabilities import editable_memory
from everlearn.serialization import digest
from everlearn.streams import Stream, sprites

from .oracle_learners import N_TASKS, ConstantLearner, OracleLearner


def test_oracle_is_perfect(stream: Stream) -> None:
    result = OneShot(n_new=(2, 6, 20), n_images=40).run(OracleLearner(stream), stream, N_TASKS)
    assert result.n_old == 6
    assert [shots.n_new for shots in result.shots] == [2, 6, 20]
    assert all((s.standard, s.generalized, s.old) == (1, 1, 1) for s in result.shots)
    assert [shots.n_images for shots in result.shots] == [2, 6, 20], "one test image per class"
    assert result.table().rows[0] == (2, 1.0, 1.0, 1.0)


def test_constant_predictions_give_chance(stream: Stream) -> None:
    """The first new class is predicted if it is alone in memory, an old class otherwise."""
    (shots,) = OneShot(n_new=(4,)).run(ConstantLearner(stream), stream, N_TASKS).shots
    assert (shots.standard, shots.generalized) == (1 / 4, 0)
    assert shots.old == pytest.approx(1 / 6)


def test_learner_is_restored(stream: Stream) -> None:
    learner = build("dcl", image_shape=(16, 16), seed=0, width=4)
    for task in stream.take(N_TASKS):
        editable_memory(learner).add(task.exemplars)
    images = stream.eval_sample(N_TASKS, 50).images
    predicted, before = learner.predict(images), digest(learner.state())
    (shots,) = OneShot(n_new=(3,), n_images=30).run(learner, stream, N_TASKS).shots
    assert 0 <= shots.generalized <= shots.standard <= 1
    np.testing.assert_array_equal(learner.predict(images), predicted)
    assert digest(learner.state()) == before


@pytest.mark.parametrize("settings", [{"scenario": "domain-incremental"}, {"n_tasks": 3}])
def test_stream_without_new_classes_is_refused(settings: dict[str, object]) -> None:
    ended = sprites(image_size=16, factor_values=3, classes_per_task=3, **settings)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"has \d new classes after 2 tasks, not 10"):
        OneShot(n_new=(10,)).run(OracleLearner(ended, 3), ended, N_TASKS)
