from itertools import pairwise

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.learners.old_base.environments import NEW, Environments, Rules
from everlearn.serialization import pack, unpack


def some(n_known: int = 2, *, most: int = 4, guard: int = 10, patience: int = 3) -> Environments:
    """Environments that have all been learned long enough to be judged; the first is the present one."""
    there = Environments(n_latents=4, most=most, rules=Rules(guard=guard, patience=patience))
    while len(there.known) < n_known:
        for _ in range(patience):
            there.settle(NEW, 0)
    for each in there.known:
        each.n_batches = guard
    there.current, there.n_before, there.changes = 0, 0, []
    return there


@pytest.mark.parametrize(
    ("atypicality", "was_open", "is_open"),
    [
        (0.2, True, True), (0.2, False, True), (0.35, True, True), (0.35, False, False),
        (0.4, True, True), (0.4, False, False), (0.5, True, True), (0.5, False, False),
        (0.6, True, False), (0.6, False, False),
    ],
)  # fmt: skip
def test_a_mask_gives_way_late_in_both_directions(atypicality: float, was_open: bool, is_open: bool) -> None:
    found = Rules(low=0.35, high=0.5).mask(np.array([atypicality]), np.array([was_open]))
    assert found.tolist() == [is_open]


@pytest.mark.parametrize(
    ("guess", "explaining", "young", "old"),
    [
        (0, {0, 1}, 0, 0),  # nothing changed
        (1, {0, 1}, 0, 1),  # the present one explains it, and so does the guess
        (1, {1}, 1, 1),  # an old one is back
        (1, {0}, 0, 0),  # the guess was a slip
        (0, {1}, 0, NEW),  # the guess and the present fail; nobody asks the others
        (1, set(), 0, NEW),
        (0, set(), 0, NEW),
    ],
)
def test_which_environment_a_batch_speaks_for(guess: int, explaining: set[int], young: int, old: int) -> None:
    """In an environment just arrived in, and in one that was learned long enough to be left."""
    there = some()
    assert there.candidate(guess, lambda s: s in explaining) == old
    there.present.n_batches -= 1
    assert there.candidate(guess, lambda s: s in explaining) == young


def test_a_young_environment_is_not_left_for_a_new_one() -> None:
    there = some()
    there.present.n_batches = 9
    assert there.candidate(0, lambda s: False) == 0
    assert there.candidate(1, lambda s: s == 1) == 1  # one that was met can be returned to
    there.present.n_batches = 10
    assert there.candidate(0, lambda s: False) == NEW


def test_without_room_the_likeliest_is_taken() -> None:
    assert some(4).candidate(2, lambda s: False) == 2


def test_a_change_needs_patience() -> None:
    there = some()
    assert [there.settle(NEW, n) for n in (1, 2)] == [None, None]
    assert there.settle(NEW, 3) == 2
    assert len(there.known) == 3
    assert there.changes == [(3, 2)]
    assert there.known[2].mask.all()
    assert there.known[2].n_batches == 0


def test_doubts_that_pass_do_not_add_up() -> None:
    there = some()
    assert [there.settle(c, 0) for c in (NEW, NEW, 0, NEW, NEW)] == [None, None, 0, None, None]
    assert there.settle(NEW, 0) == 2


@pytest.mark.parametrize(
    ("doubts", "settled"),
    [((NEW, 1, 1), 1), ((1, NEW, NEW), 3), ((NEW, 1, 2), 2), ((2, 1, NEW), 2), ((1, 1, 1), 1)],
)
def test_most_doubts_decide_and_rather_for_one_that_was_met(doubts: tuple[int, ...], settled: int) -> None:
    there = some(3)
    assert [there.settle(doubt, 0) for doubt in doubts] == [None, None, settled]


def test_after_a_return_the_guard_stands_again() -> None:
    there = some()
    for n in range(3):
        there.settle(1, n)
    assert there.candidate(1, lambda s: False) == 1
    there.present.n_batches += 10
    assert there.candidate(1, lambda s: False) == NEW


def test_returning_takes_patience_and_makes_nothing_new() -> None:
    there = some()
    assert [there.settle(1, n) for n in (7, 8, 9)] == [None, None, 1]
    assert len(there.known) == 2
    assert there.changes == [(9, 1)]


def test_masks_are_compared_on_used_latents_only() -> None:
    there = some()
    there.known[1].mask = np.array([True, True, False, False])
    there.known[1].used = np.array([True, False, True, False])
    calm, loud = 0.1, 0.9
    assert not there.differs(1, np.array([calm, loud, loud, calm]))
    assert there.differs(1, np.array([loud, calm, loud, calm]))  # a used one closes
    assert there.differs(1, np.array([calm, calm, calm, calm]))  # a used one opens
    there.known[1].atypical[:] = [loud - 0.5, 0, 0, 0]  # nearly as a rule, so that it is no news
    assert not there.differs(1, np.array([loud, calm, loud, calm]))
    assert there.differs(1, np.array([loud + 0.1, calm, loud, calm]))


def test_running_means() -> None:
    known = some(1).present
    known.n_batches = 0
    known.note(10.0, np.array([1.0, 0, 0, 0]), np.array([0.5, 0, 0, 0]))
    assert (known.error, known.nats[0]) == (10, 1)
    known.note(20.0, np.array([3.0, 0, 0, 0]), np.array([0.7, 0, 0, 0]))
    assert (known.error, known.nats[0], known.atypical[0]) == (15, 2, pytest.approx(0.6))
    known.n_batches = 1000
    known.note(115.0, np.zeros(4), np.zeros(4))
    assert known.error == pytest.approx(15 + 0.02 * 100)


def test_what_is_the_same_for_all_images_tells_none_apart() -> None:
    known = some(1).known[0]
    known.n_batches = 0
    known.note(1.0, np.array([3.0, 0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.1, 0.2]))
    assert known.telling == pytest.approx([3.0, 0.0, 0.4, -0.2])


def test_spare_and_used_elsewhere() -> None:
    there = some()
    there.known[0].used[:] = [True, False, False, False]
    there.known[1].used[:] = [True, True, False, False]
    assert there.spare.tolist() == [False, False, True, True]
    assert there.used_elsewhere().tolist() == [True, True, False, False]
    there.current = 1
    assert there.used_elsewhere().tolist() == [True, False, False, False]


def test_state_round_trip() -> None:
    there, other = some(3), some(1)
    there.known[1].note(3.0, np.arange(4.0), np.ones(4))
    there.known[2].mask[1] = False
    there.settle(1, 5)
    other.load(unpack(pack(there.state())))
    assert pack(other.state()) == pack(there.state())
    assert [other.settle(1, n) for n in (6, 7)] == [None, 1]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kappa": 0.5}, "kappa is 0.5; it must be between 1 and"),
        ({"low": 0.6, "high": 0.5}, "mask_low is 0.6; it must be between 0 and mask_high, which is 0.5"),
        ({"patience": 0}, "patience is 0"),
    ],
)
def test_impossible_rules_are_refused(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Rules(**settings)  # type: ignore[arg-type]


def test_the_first_batches_count_in_full_and_later_ones_evenly() -> None:
    known = some(1).present
    known.n_batches = 0
    shares = []
    for _ in range(200):
        before = known.error
        known.note(before + 1, np.zeros(4), np.zeros(4))
        shares.append(known.error - before)
    assert shares[:3] == pytest.approx([1, 1 / 2, 1 / 3])
    assert all(a >= b - 1e-12 for a, b in pairwise(shares))
    assert shares[-1] == pytest.approx(0.02)
