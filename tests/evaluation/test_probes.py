"""Probes: gradients as in torch, known targets, determinism; retention computed by hand."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.evaluation.probes import (
    HIDDEN_UNITS,
    ProbeNet,
    ProbeResults,
    identity,
    mean_retention,
    probe_keys,
    probe_labels,
    probe_values,
    retention,
    retention_measures,
    softmax,
)
from everlearn.rng import rng_at

CODES = rng_at(0, "test codes").normal(4000).reshape(1000, 4)


@pytest.mark.parametrize("classifies", [True, False])
def test_gradients_are_those_of_torch(classifies: bool) -> None:
    net = ProbeNet(4, 3, rng_at(1, "test"))
    net.weights += 0.1 * rng_at(2, "test").normal(len(net.weights))
    targets = np.eye(3)[rng_at(3, "test").integers(50, 3)] if classifies else CODES[:50, :3] ** 2
    first, bias, last, last_bias = (torch.tensor(part, requires_grad=True) for part in net.layers)
    assert first.shape == (4, HIDDEN_UNITS)
    outputs = torch.relu(torch.tensor(CODES[:50]) @ first + bias) @ last + last_bias
    target = torch.tensor(targets)
    loss = (
        functional.cross_entropy(outputs, target)
        if classifies
        else 0.5 * (outputs - target).square().sum(1).mean()
    )
    loss.backward()  # type: ignore[no-untyped-call]  # torch's own
    gradient = net.gradient(CODES[:50], targets, softmax if classifies else identity)
    for ours, theirs in zip(net.split(gradient), (first, bias, last, last_bias), strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(ours, theirs.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(net(CODES[:50]), outputs.detach().numpy(), atol=1e-12)


def test_probe_predicts_encoded_labels() -> None:
    labels = 7 + 10 * CODES.argmax(axis=1)
    outputs = probe_labels(CODES[:700], labels[:700], CODES[700:])
    assert set(outputs.tolist()) <= {7, 17, 27, 37}
    assert (outputs == labels[700:]).mean() > 0.95


def test_more_training_codes_give_higher_accuracy() -> None:
    codes = rng_at(8, "test codes").uniform(44_000).reshape(22_000, 2)
    labels = (codes * 4).astype(int).sum(axis=1) % 2  # a chessboard
    few, many = (
        (probe_labels(codes[:n], labels[:n], codes[20_000:]) == labels[20_000:]).mean()
        for n in (2_000, 20_000)
    )
    assert few < 0.8
    assert many > 0.86


def test_uninformative_codes_give_chance() -> None:
    labels = rng_at(4, "test").integers(1000, 4)
    assert (probe_labels(CODES[:700], labels[:700], CODES[700:]) == labels[700:]).mean() < 0.4
    values = rng_at(5, "test").uniform(1000)[:, None]
    error = ((probe_values(CODES[:700], values[:700], CODES[700:]) - values[700:]) ** 2).mean()
    assert error > 0.8 / 12, "close to the variance of a uniform number"


def test_probe_predicts_nonlinearly_encoded_positions() -> None:
    position = rng_at(6, "test").uniform(2000).reshape(1000, 2)
    codes = np.tanh(4 * (position - 0.5)) + 0.001 * CODES[:, :2]
    error = ((probe_values(codes[:700], position[:700], codes[700:]) - position[700:]) ** 2).mean()
    assert error < 1e-3


def test_scale_of_codes_does_not_matter() -> None:
    labels = CODES.argmax(axis=1)
    outputs = probe_labels(CODES[:700], labels[:700], CODES[700:])
    far = 1e4 + 1e3 * CODES
    assert (probe_labels(far[:700], labels[:700], far[700:]) == outputs).mean() > 0.98


def test_seed_determines_the_result() -> None:
    values = CODES[:, :1] * CODES[:, 1:2]
    predicted = [probe_values(CODES[:700], values[:700], CODES[700:], seed=seed) for seed in (1, 1, 2)]
    assert np.array_equal(predicted[0], predicted[1])
    assert not np.array_equal(predicted[0], predicted[2])


def test_number_of_targets_must_match() -> None:
    with pytest.raises(BadInput, match="for 2 targets"):
        probe_labels(CODES[:10], [1, 2], CODES)


STAGES = ("a", "a", "b", "b", "a", "c")
"""Environments of six evaluations."""
SCORES = {
    "a": ([0.5, 0.9, 0.7, 0.6, 0.8, 0.4], [0.04, 0.01, 0.03, 0.09, 0.02, 0.05]),
    "c": ([0.1, 0.2, 0.3, 0.4, 0.3, 0.2], None),
}
ROWS = [
    ProbeResults(
        task=(0, 0, 1, 1, 2, 3)[k],
        environment=environment,
        n_batches=(5, None, 5, None, None, None)[k],
        results={
            "a": {"object": SCORES["a"][0][k], "position": SCORES["a"][1][k]},  # type: ignore[index]
            "c": {"object": SCORES["c"][0][k]},
        },
    )
    for k, environment in enumerate(STAGES)
]


def test_retention_of_an_accuracy() -> None:
    found = retention(ROWS, "a", "object")
    assert found.final == 0.4
    assert found.best == 0.9
    assert found.change == pytest.approx(0.4 - 0.8), "from the end of its last task"
    assert found.after == pytest.approx(0.4 - 0.8)


def test_retention_of_an_error() -> None:
    found = retention(ROWS, "a", "position")
    assert (found.final, found.best) == (0.05, 0.01)
    assert found.change == pytest.approx(0.03)
    assert found.after == pytest.approx(0.03)


def test_the_environment_of_the_last_task_cannot_be_forgotten() -> None:
    found = retention(ROWS, "c", "object")
    assert found.best == 0.4
    assert math.isnan(found.change)
    assert math.isnan(found.after)


def test_an_environment_that_returns_in_the_last_task_counts_from_the_task_before() -> None:
    assert retention(ROWS[:5], "a", "object").change == pytest.approx(0.8 - 0.9)


def test_evaluations_within_tasks_do_not_count() -> None:
    """The maximum over many evaluations of a noisy score would be too high."""
    within = ROWS[0]._replace(results={"a": {"object": 0.99, "position": 0.0}, "c": {"object": 0.0}})
    assert retention([within, *ROWS[1:]], "a", "object") == retention(ROWS, "a", "object")


def test_mean_retention_is_over_environments() -> None:
    assert probe_keys(ROWS) == [("a", "object"), ("a", "position"), ("c", "object")]
    mean = mean_retention(ROWS, "object")
    assert mean.final == pytest.approx(0.4), "of those that can be forgotten"
    assert mean.change == pytest.approx(-0.4)
    only_last = [row._replace(results={"c": row.results["c"]}) for row in ROWS]
    assert mean_retention(only_last, "object").final == pytest.approx(0.2), "of all if none can"
    measures = dict(retention_measures(ROWS))
    assert measures["position_change"] == pytest.approx(0.03)
    assert set(map(math.isnan, dict(retention_measures([])).values())) == {True}
