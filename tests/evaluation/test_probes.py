"""Probes: slopes as torch finds them, answers that are known beforehand, and nothing left to chance."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from everlearn.errors import BadInput
from everlearn.evaluation.probes import WIDTH, Layers, identity, read_labels, read_numbers, softmax
from everlearn.rng import rng_at

CODES = rng_at(0, "test codes").normal(4000).reshape(1000, 4)


@pytest.mark.parametrize("named", [True, False])
def test_slopes_are_those_of_torch(named: bool) -> None:
    layers = Layers(4, 3, rng_at(1, "test"))
    layers.weights += 0.1 * rng_at(2, "test").normal(len(layers.weights))
    targets = np.eye(3)[rng_at(3, "test").integers(50, 3)] if named else CODES[:50, :3] ** 2
    first, bias, last, last_bias = (torch.tensor(part, requires_grad=True) for part in layers.parts)
    assert first.shape == (4, WIDTH)
    said = torch.relu(torch.tensor(CODES[:50]) @ first + bias) @ last + last_bias
    wanted = torch.tensor(targets)
    loss = functional.cross_entropy(said, wanted) if named else 0.5 * (said - wanted).square().sum(1).mean()
    loss.backward()  # type: ignore[no-untyped-call]  # torch's own
    slope = layers.slope(CODES[:50], targets, softmax if named else identity)
    for ours, theirs in zip(layers.parted(slope), (first, bias, last, last_bias), strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(ours, theirs.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(layers(CODES[:50]), said.detach().numpy(), atol=1e-12)


def test_labels_that_codes_name_are_read() -> None:
    labels = 7 + 10 * CODES.argmax(axis=1)
    said = read_labels(CODES[:700], labels[:700], CODES[700:])
    assert set(said.tolist()) <= {7, 17, 27, 37}
    assert (said == labels[700:]).mean() > 0.95


def test_many_codes_teach_what_few_do_not() -> None:
    codes = rng_at(8, "test codes").uniform(44_000).reshape(22_000, 2)
    labels = (codes * 4).astype(int).sum(axis=1) % 2  # a chessboard
    few, many = (
        (read_labels(codes[:n], labels[:n], codes[20_000:]) == labels[20_000:]).mean()
        for n in (2_000, 20_000)
    )
    assert few < 0.8
    assert many > 0.86


def test_codes_that_say_nothing_give_a_guess() -> None:
    labels = rng_at(4, "test").integers(1000, 4)
    assert (read_labels(CODES[:700], labels[:700], CODES[700:]) == labels[700:]).mean() < 0.4
    numbers = rng_at(5, "test").uniform(1000)[:, None]
    error = ((read_numbers(CODES[:700], numbers[:700], CODES[700:]) - numbers[700:]) ** 2).mean()
    assert error > 0.8 / 12, "no less than a uniform number varies, but for luck"


def test_a_place_is_read_however_it_is_bent() -> None:
    place = rng_at(6, "test").uniform(2000).reshape(1000, 2)
    codes = np.tanh(4 * (place - 0.5)) + 0.001 * CODES[:, :2]
    error = ((read_numbers(codes[:700], place[:700], codes[700:]) - place[700:]) ** 2).mean()
    assert error < 1e-3


def test_the_unit_of_codes_does_not_matter() -> None:
    labels = CODES.argmax(axis=1)
    said = read_labels(CODES[:700], labels[:700], CODES[700:])
    far = 1e4 + 1e3 * CODES
    assert (read_labels(far[:700], labels[:700], far[700:]) == said).mean() > 0.98


def test_equal_seeds_give_equal_answers() -> None:
    numbers = CODES[:, :1] * CODES[:, 1:2]
    read = [read_numbers(CODES[:700], numbers[:700], CODES[700:], seed=seed) for seed in (1, 1, 2)]
    assert np.array_equal(read[0], read[1])
    assert not np.array_equal(read[0], read[2])


def test_codes_without_truth_are_refused() -> None:
    with pytest.raises(BadInput, match="one truth each"):
        read_labels(CODES[:10], [1, 2], CODES)
