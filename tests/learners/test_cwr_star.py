import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.cwr_star import CWRStar
from everlearn.networks import make_backbone
from everlearn.networks.weights import save

from .toy import FLAT, batch_of, view_of

PLAIN = {**FLAT, "momentum": 0.0, "weight_decay": 0.0, "head_rate": 0.5}


def taught(learner: CWRStar, *label_lists: list[int]) -> CWRStar:
    for index, labels in enumerate(label_lists):
        batch = batch_of(labels, index)
        learner.begin(view_of(batch, index))
        for _ in range(
            2
        ):  # in the first step the rows of new classes are zeros, and nothing reaches the body
            learner.learn(batch)
        learner.end(view_of(batch, index))
    return learner


def test_the_body_learns_the_first_task_only() -> None:
    learner = taught(CWRStar(**PLAIN), [0, 1, 1])
    gain = learner.body.gain.item()
    assert gain != 1.0
    taught(learner, [2, 3, 3], [0, 4])
    assert learner.body.gain.item() == gain


def test_batch_averages_are_frozen_with_the_body() -> None:
    from everlearn.streams import sprites

    stream, learner = sprites(image_size=16, factor_values=2, classes_per_task=2), CWRStar.tiny()
    seen = []
    for task in stream.take(3):
        view = task.for_learner()
        learner.begin(view)
        learner.learn(view.train)
        learner.end(view)
        seen.append({name: tensor.clone() for name, tensor in learner.body.state_dict().items()})
    assert all(torch.equal(seen[0][name], seen[2][name]) for name in seen[0])


def test_a_task_is_learned_with_its_own_rows_and_merged_by_counts() -> None:
    """In the second task class 1 returns: two images after four make w = sqrt(2)."""
    learner = taught(CWRStar(**PLAIN), [0, 0, 1, 1, 1, 1])
    before = learner.consolidation.rows[:2].clone()
    new = batch_of([1, 1, 2], 1)
    learner.begin(view_of(new, 1))
    assert not learner.head.weight[0].any()
    assert torch.equal(learner.head.weight[1], before[1])
    learner.learn(new)
    learned = learner.head.weight.detach().clone()
    learner.end(view_of(new, 1))
    centred, w = learned - learned.mean(1, keepdim=True), 2**0.5
    rows = learner.consolidation.rows
    assert torch.equal(rows[0], before[0])
    torch.testing.assert_close(rows[1], (before[1] * w + centred[1]) / (w + 1))
    torch.testing.assert_close(rows[2], centred[2])
    assert learner.consolidation.n_past[:3].tolist() == [2, 6, 1]
    assert torch.equal(learner.head.weight.detach(), rows)


def test_inside_a_task_old_classes_answer_as_before_it() -> None:
    learner = taught(CWRStar(**PLAIN), [0, 0, 1, 1])
    old = batch_of([0, 0, 1, 1], 0)
    before = learner.predict(old.images)
    learner.begin(view_of(batch_of([1, 1], 5), 1))
    assert (learner.predict(old.images) == before).all()


def test_step_sizes_change_after_the_first_task_and_fade_by_the_schedule() -> None:
    learner = CWRStar(**{**PLAIN, "head_rate": 0.25, "slowing": 0.9})
    rates = []
    for index in range(12):
        learner.begin(view_of(batch_of([index]), index))
        rates.append(learner.optimiser.param_groups[-1]["lr"])
        learner.end(view_of(batch_of([index]), index))
    expected = [0.25 * (1 - 0.9 / (1 + np.exp(8 - 1.5 * i))) for i in range(1, 12)]
    np.testing.assert_allclose(rates, [0.5, *expected])
    assert rates[-1] < 0.026


def test_it_starts_from_given_weights(tmp_path) -> None:
    net = make_backbone("small-renorm", (16, 16), seed=5)
    save(net, tmp_path / "net.safetensors")
    learner = CWRStar(
        image_shape=(16, 16), backbone="small-renorm", weights=str(tmp_path / "net.safetensors"), seed=0
    )
    assert all(torch.equal(a, b) for a, b in zip(learner.body.parameters(), net.parameters(), strict=True))
    assert learner.supervision == "labelled images, a pretrained network"


def test_weights_of_another_network_are_refused(tmp_path) -> None:
    save(make_backbone("small", (16, 16), seed=5), tmp_path / "net.safetensors")
    with pytest.raises(BadInput, match="another network"):
        CWRStar(image_shape=(16, 16), backbone="pooled", weights=str(tmp_path / "net.safetensors"))
    with pytest.raises(BadInput, match="there are no weights"):
        CWRStar(image_shape=(16, 16), weights=str(tmp_path / "nothing.safetensors"))


@pytest.mark.parametrize(
    "wrong", [{"centring": "rows"}, {"slowing": 1.5}, {"head_rate": -1}, {"weight_decay": 2}]
)
def test_nonsense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        CWRStar(**{**FLAT, **wrong})
