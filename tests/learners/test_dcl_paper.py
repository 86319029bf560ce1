import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.dcl_paper import DCLPaper
from everlearn.streams import Batch, sprites

STREAM = sprites(image_size=32, classes_per_task=4, factor_values=4)


class Oracle(torch.nn.Module):
    """Returns the true matrices of the test images."""

    def __init__(self, batch: Batch) -> None:
        super().__init__()
        assert batch.factors is not None
        self.matrices = torch.nn.Parameter(torch.from_numpy(batch.factors.matrices()).float().reshape(-1, 6))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.matrices[: len(images)]


def test_true_matrices_give_correct_predictions() -> None:
    task, learner = STREAM.task(0), DCLPaper.tiny(image_shape=(32, 32))
    learner.memory.add(task.exemplars)
    learner.net = Oracle(task.test)  # type: ignore[assignment]
    assert np.mean(learner.predict(task.test.images) == task.test.labels) > 0.97
    estimated = learner.estimate(task.test.images).array()
    np.testing.assert_allclose(estimated, task.test.factors.array(), atol=1e-5)  # type: ignore[union-attr]


def test_training_reduces_the_pose_error() -> None:
    task, learner = STREAM.task(0), DCLPaper.tiny(image_shape=(32, 32))
    learner.begin(task.for_learner())
    losses = [learner.learn(batch)["pose"] for batch in task.train.shuffled(0).batches(32)]
    assert np.mean(losses[-5:]) < 0.3 * np.mean(losses[:3])


def test_pose_loss_is_the_mean_squared_error_of_the_matrix() -> None:
    batch, learner = STREAM.task(0).train[:8], DCLPaper.tiny(image_shape=(32, 32))
    with torch.no_grad():
        learner.net[1].weight.zero_()  # type: ignore[operator, union-attr]
        learner.net[1].bias.zero_()  # type: ignore[operator, union-attr]
    expected = np.square(batch.factors.matrices()).mean()  # type: ignore[union-attr]
    assert learner.learn(batch)["pose"] == pytest.approx(expected, rel=1e-5)


def test_reconstruction_loss() -> None:
    batch = STREAM.task(0).train[:8]
    learner = DCLPaper(image_shape=(32, 32), backbone="small", reconstruction_weight=0.5)
    learner.begin(STREAM.task(0).for_learner())
    losses = learner.learn(batch)
    assert losses["loss"] == pytest.approx(losses["pose"] + losses["reconstruction"])
    assert losses["reconstruction"] > 0


def test_default_network_is_the_papers() -> None:
    learner = DCLPaper(image_shape=(32, 32))
    assert sum(p.numel() for p in learner.net.parameters()) == 11_173_318
    assert learner.optim.defaults["lr"] == 1e-3


def test_novelty_orders_like_the_distance_ratio() -> None:
    task, learner = STREAM.task(0), DCLPaper.tiny(image_shape=(32, 32))
    learner.memory.add(task.exemplars)
    learner.net = Oracle(task.test)  # type: ignore[assignment]
    match = learner.matches(task.test.images[:5])
    order = np.argsort(learner.novelty(task.test.images[:5]))
    assert (order == np.argsort(match.residuals / match.runner_up_residuals)).all()


def test_missing_factors_are_reported() -> None:
    batch = STREAM.task(0).train[:4]
    with pytest.raises(BadInput, match="dcl can do without"):
        DCLPaper.tiny(image_shape=(32, 32)).learn(Batch(batch.images, batch.labels))
