from typing import Any

import numpy as np
import pytest

from everlearn.learners.vase.environments import NEW, Environment, EnvironmentInference
from everlearn.learners.vase.learner import VASE
from everlearn.serialization import pack, unpack


def inference(n_known: int = 2, *, max_environments: int = 4, **settings: Any) -> EnvironmentInference:
    """Environments that are all past the cooldown; the first is the current one."""
    settings |= {"n_latents": 4, "max_environments": max_environments, "patience": 3, "cooldown": 10}
    made = EnvironmentInference(3, VASE(**settings, image_shape=(16, 16), size="tiny"))
    made.known = [Environment(4) for _ in range(n_known)]
    for each in made.known:
        each.n_batches = 10
    return made


@pytest.mark.parametrize(
    ("atypicality", "when_active", "when_masked"),
    [(0.2, True, True), (0.35, True, False), (0.4, True, False), (0.5, True, False), (0.6, False, False)],
)
def test_mask_has_hysteresis(atypicality: float, when_active: bool, when_masked: bool) -> None:
    mask = inference().mask(np.full(2, atypicality), np.array([True, False]))
    assert mask.tolist() == [when_active, when_masked]


@pytest.mark.parametrize(
    ("guess", "explaining", "in_cooldown", "after_cooldown"),
    [
        (0, {0, 1}, 0, 0),  # no change
        (1, {0, 1}, 0, 1),  # both explain it
        (1, {1}, 1, 1),  # return to a known environment
        (1, {0}, 0, 0),  # wrong guess
        (0, {1}, 0, NEW),  # only the guess and the current environment are tested
        (1, set(), 0, NEW),
        (0, set(), 0, NEW),
    ],
)
def test_candidate(guess: int, explaining: set[int], in_cooldown: int, after_cooldown: int) -> None:
    known = inference()
    assert known.candidate(guess, lambda s: s in explaining) == after_cooldown
    known.current.n_batches -= 1
    assert known.candidate(guess, lambda s: s in explaining) == in_cooldown


def test_as_published_only_the_guess_is_tested() -> None:
    known = inference(test_current=False)
    assert known.candidate(1, lambda s: s == 0) == NEW
    assert known.candidate(1, lambda s: True) == 1


def test_no_new_environment_beyond_the_maximum() -> None:
    assert inference(4).candidate(2, lambda s: False) == 2


def test_new_environment_needs_patience() -> None:
    known = inference()
    assert [known.confirm(NEW, n) for n in (1, 2, 3)] == [None, None, 2]
    assert len(known.known) == 3
    assert known.changes == [(3, 2)]
    assert known.current.mask.all()
    assert known.current.n_batches == 0


def test_return_to_a_known_environment_needs_patience_and_starts_a_cooldown() -> None:
    known = inference()
    assert [known.confirm(1, n) for n in (7, 8, 9)] == [None, None, 1]
    assert len(known.known) == 2
    assert known.changes == [(9, 1)]
    assert known.candidate(1, lambda s: False) == 1
    known.current.n_batches += 10
    assert known.candidate(1, lambda s: False) == NEW


def test_pending_candidates_are_reset_by_the_current_environment() -> None:
    known = inference()
    candidates = (NEW, NEW, 0, NEW, NEW, NEW)
    assert [known.confirm(c, 0) for c in candidates] == [None, None, 0, None, None, 2]


@pytest.mark.parametrize(
    ("pending", "confirmed"),
    [((NEW, 1, 1), 1), ((1, NEW, NEW), 3), ((NEW, 1, 2), 2), ((2, 1, NEW), 2), ((1, 1, 1), 1)],
)
def test_the_most_frequent_candidate_wins_and_known_ones_win_ties(
    pending: tuple[int, ...], confirmed: int
) -> None:
    known = inference(3)
    assert [known.confirm(candidate, 0) for candidate in pending] == [None, None, confirmed]


def test_masks_are_compared_on_used_latents_only() -> None:
    inferring = inference()
    known = inferring.known[1]
    known.mask, known.used = np.array([True, True, False, False]), np.array([True, False, True, False])
    low, high = 0.1, 0.9
    assert not inferring.mask_differs(1, np.array([low, high, high, low]))
    assert inferring.mask_differs(1, np.array([high, low, high, low]))  # a used latent is masked
    assert inferring.mask_differs(1, np.array([low, low, low, low]))  # a used latent becomes active
    known.atypicality[:] = [high - 0.5, 0, 0, 0]  # compared with the usual atypicality
    assert not inferring.mask_differs(1, np.array([high, low, high, low]))
    assert inferring.mask_differs(1, np.array([high + 0.1, low, high, low]))


def test_running_means() -> None:
    known = Environment(4)
    known.update(10.0, np.array([1.0, 0, 0, 0]), np.array([0.5, 0, 0, 0]))
    known.update(20.0, np.array([3.0, 0, 0, 0]), np.array([0.7, 0, 0, 0]))
    assert (known.nll, known.kl[0], known.atypicality[0]) == (15, 2, pytest.approx(0.6))
    assert known.informative_kl == pytest.approx([1.4, 0, 0, 0])
    known.n_batches = 1000
    known.update(115.0, np.zeros(4), np.zeros(4))
    assert known.nll == pytest.approx(15 + 0.02 * 100)


def test_used_elsewhere() -> None:
    known = inference()
    known.known[0].used[:] = [True, False, False, False]
    known.known[1].used[:] = [True, True, False, False]
    assert known.used_elsewhere().tolist() == [True, True, False, False]
    known.index = 1
    assert known.used_elsewhere().tolist() == [True, False, False, False]


def test_state_round_trip() -> None:
    known, other = inference(3), inference(1)
    known.known[1].update(3.0, np.arange(4.0), np.ones(4))
    known.known[2].mask[1] = False
    known.confirm(1, 5)
    other.load(unpack(pack(known.state())))
    assert pack(other.state()) == pack(known.state())
    assert [other.confirm(1, n) for n in (6, 7)] == [None, 1]
