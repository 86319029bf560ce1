import pytest

from everlearn.errors import BadInput
from everlearn.evaluation.protocols.answer_cost import AnswerCost
from everlearn.learners import DCL, Naive, NearestMeanImage
from everlearn.streams import sprites

STREAM = sprites(image_size=16, classes_per_task=3, factor_values=2)


def trained(learner: type) -> object:
    made = learner.tiny()  # type: ignore[attr-defined]
    task = STREAM.task(0)
    made.begin(task.for_learner())
    made.learn(task.train[::6])
    made.end(task.for_learner())
    return made


def test_operations_are_those_of_the_network() -> None:
    learner = trained(Naive)
    result = AnswerCost().run(learner, STREAM, 1)
    head = 2 * 3 * learner.net.n_features  # type: ignore[attr-defined]
    assert result.flops == pytest.approx(learner.forward_flops + head)  # type: ignore[attr-defined]
    assert result.milliseconds > 0


def test_a_learner_that_remembers_answers_is_counted() -> None:
    flops = AnswerCost(n_images=6, n_batches=3).run(trained(DCL), STREAM, 1).flops
    assert flops is not None
    assert flops > 0


def test_learners_without_torch_have_no_operations() -> None:
    assert AnswerCost().run(trained(NearestMeanImage), STREAM, 1).flops is None


def test_too_few_images_are_refused() -> None:
    with pytest.raises(BadInput, match="2 test images are too few"):
        AnswerCost(n_images=2).run(trained(NearestMeanImage), STREAM, 1)
