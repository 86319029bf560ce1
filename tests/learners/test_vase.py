"""A world of bars: they move, they rest, they move again, and nobody says when."""

from typing import Any

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.learners.old_base.dreaming import proximity
from everlearn.learners.vase import Vase
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.serialization import digest, pack, unpack
from everlearn.streams import Batch

QUICK: dict[str, Any] = {
    "image_shape": (16, 16),
    "size": "tiny",
    "n_latents": 12,
    "guard": 5,
    "settle": 3,
    "patience": 2,
    "learning_rate": 0.01,
    "gamma": 100.0,
    "capacity_step": 0.005,
    "warm_up": 0,
}


def bars(number: int, *, still: bool = False, dark: bool = False, n: int = 32) -> Batch:
    """White bars of three widths, anywhere or in the middle; or dark ones on white."""
    rng = rng_at(1, "bars", number)
    y, x = np.full((2, n), 5) if still else rng.integers(2 * n, 11).reshape(2, n)
    width = 3 + rng.integers(n, 3)
    images = np.zeros((n, 16, 16), np.uint8)
    for i in range(n):
        images[i, y[i] : y[i] + 5, x[i] : x[i] + width[i]] = 255
    return Batch(255 - images if dark else images, np.zeros(n, np.int64))


def taught(n_light: int = 12, n_dark: int = 4, **settings: Any) -> Vase:
    """One that met light bars, and then dark ones, which are drawn so badly that they must be new."""
    learner = Vase(**{**QUICK, **settings})
    for number in range(n_light):
        learner.learn(bars(number))
    for number in range(n_dark):
        learner.learn(bars(number, dark=True))
    return learner


LIVELY = {
    **QUICK,
    "guard": 50,
    "settle": 20,
    "patience": 3,
    "learning_rate": 1e-3,
    "capacity_step": 0.02,
    "capacity_most": 8.0,
    "warm_up": 20,
}
MOVED, RESTED = 350, 450
"""When the bars come to rest, and when they move again."""


@pytest.fixture(scope="module")
def traveller() -> tuple[Vase, list[dict[str, float]]]:
    """Moving bars, resting ones, moving ones again."""
    learner = Vase(**LIVELY)
    told = [learner.learn(bars(n, still=MOVED <= n < RESTED)) for n in range(RESTED + 15)]
    return learner, told


def test_changes_are_noticed_at_once_and_none_is_imagined(traveller: tuple[Vase, list[Any]]) -> None:
    learner, told = traveller
    assert learner.environments.changes == [(MOVED + 3, 1), (RESTED + 3, 0)]
    in_doubt = [n for n, each in enumerate(told) if each["doubt"]]
    assert in_doubt == [MOVED, MOVED + 1, RESTED, RESTED + 1]


def test_place_is_closed_where_nothing_moves_and_kept_for_where_it_does(
    traveller: tuple[Vase, list[Any]],
) -> None:
    learner, _ = traveller
    moving, resting = learner.environments.known
    closed = moving.used & ~resting.mask
    assert 2 <= closed.sum() < moving.used.sum()
    assert not (resting.used & closed).any()
    images = bars(1000, n=400)
    codes = learner.encode(images.images)
    tops = images.images.max(2).argmax(1)
    assert explained(codes[:, closed], tops) > 0.5


def explained(codes: FloatArray, truth: IntArray) -> float:
    """The share of the variance that a plane through the codes explains."""
    design = np.hstack([codes, np.ones((len(codes), 1))])
    left = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return 1 - float(left.var() / truth.var())


def test_c_begins_anew_and_goes_on_where_it_was(traveller: tuple[Vase, list[Any]]) -> None:
    _, told = traveller
    c = [each["capacity"] for each in told]
    assert c[MOVED - 1] == pytest.approx(7)
    assert c[MOVED + 2] < 4
    assert c[MOVED + 52] == pytest.approx(c[MOVED + 2] + 50 * 0.02)
    assert c[RESTED + 2] == pytest.approx(7.02)


def loaded(learner: Vase, **settings: Any) -> Vase:
    """The same one with other settings."""
    other = Vase(**{**LIVELY, **settings})
    other.load(learner.state())
    return other


@pytest.mark.parametrize("selector", ["classifier", "reconstruction"])
def test_a_batch_can_be_asked_where_it_is_from(traveller: tuple[Vase, list[Any]], selector: str) -> None:
    learner = loaded(traveller[0], guard=0, selector=selector)
    before = digest(learner.state())
    assert learner.infer(bars(2000).images) == 0
    assert learner.infer(bars(2000, still=True).images) == 1
    assert learner.infer(bars(2000, dark=True).images) == -1
    chances = learner.chances(bars(2000).images)
    assert chances.shape == (32, 2)
    assert digest(learner.state()) == before


def test_a_new_world_is_entered_after_patience_and_before_any_weight_moves() -> None:
    learner = taught(n_dark=0)
    before = digest({"net": learner.state()["net"]})
    first = learner.learn(bars(0, dark=True))
    assert first["doubt"] == 1
    assert digest({"net": learner.state()["net"]}) == before
    learner.learn(bars(1, dark=True))
    assert learner.environments.changes == [(14, 1)]
    assert learner.snapshot is not None
    assert digest({"net": learner.snapshot.state()["net"]}) == before
    assert learner.snapshot.n_known == 1


def test_small_batches_are_not_judged() -> None:
    learner = taught(n_dark=0)
    for number in range(6):
        learner.learn(bars(number, dark=True, n=15))
    assert learner.environments.changes == []


@pytest.mark.parametrize("cut", [12, 13, 14, 16])
def test_saved_in_doubt_or_after_it_goes_on_exactly(cut: int) -> None:
    lessons = [bars(n, dark=n >= 12) for n in range(18)]

    def go(break_at: int | None) -> str:
        learner = Vase(**QUICK, exploration="random")
        for number, lesson in enumerate(lessons):
            if number == break_at:
                saved = unpack(pack(learner.state()))
                learner = taught(n_dark=3, exploration="random")
                learner.load(saved)
            learner.learn(lesson)
        assert learner.environments.changes == [(14, 1)]
        return digest(learner.state())

    assert go(None) == go(cut)


def test_without_s_there_is_one_environment_and_nobody_doubts() -> None:
    learner = taught(clustering=False)
    assert len(learner.environments.known) == 1
    assert learner.environments.present.n_batches == 16


def test_without_a_every_latent_stays_open() -> None:
    learner = taught(masking=False, mask_low=0.0, mask_high=0.0, mask_spare=True)
    assert all(each.mask.all() for each in learner.environments.known)


def test_the_paper_s_mask_closes_spare_latents_too() -> None:
    settings = {"mask_low": 0.0, "mask_high": 0.0, "settle": 100}
    assert all(each.mask.all() for each in taught(n_dark=0, **settings).environments.known)
    closed = taught(n_dark=0, **settings, mask_spare=True).environments.present.mask
    assert not closed.any()


def test_without_s_latents_in_use_are_closed_and_no_others() -> None:
    learner = Vase(**QUICK, clustering=False, mask_low=0.0, mask_high=0.0)
    only = learner.environments.present
    only.nats[:2], only.atypical[:2], only.used[:2], only.n_batches = 5.0, 0.25, True, 50
    for number in range(3):
        learner.learn(bars(number))
    assert only.mask.tolist() == [False] * 2 + [True] * 10
    assert only.telling[:2].tolist() == [4.75, 4.75]
    assert only.nats[:2].tolist() == [5.0, 5.0], "what they stood for is not forgotten while they are closed"


def test_a_mask_is_latched_when_its_environment_has_settled() -> None:
    learner = Vase(**QUICK, mask_low=0.0, mask_high=0.0, mask_spare=True)
    learner.environments.present.n_batches = 3
    learner.learn(bars(0))
    assert learner.environments.present.mask.all()


def test_without_d_nothing_is_dreamed() -> None:
    learner = taught(dreaming=False)
    glance = learner.glance(learner.pixels(bars(0).images))
    assert (
        learner._kept(glance).item()
        == learner._misnamed(glance.described.features, torch.ones(32, dtype=torch.long)).item()
    )


def test_what_is_kept_is_the_sum_of_its_parts() -> None:
    learner = taught(encoder_weight=2.0, decoder_weight=3.0, dream_size=16)
    assert learner.snapshot is not None
    dream = learner.snapshot.dream(16, [0], rng_at(0, "vase dream", learner.n_steps))
    near = proximity(learner.net, dream)
    glance = learner.glance(learner.pixels(bars(0, dark=True).images))
    here = learner._misnamed(glance.described.features, torch.ones(32, dtype=torch.long))
    there = learner._misnamed(near.features, torch.zeros(16, dtype=torch.long))
    expected = here + there + 2 * near.encoder + 3 * near.decoder
    assert learner._kept(glance).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_classifier_does_not_teach_the_encoder() -> None:
    learner = taught(dreaming=False)
    glance = learner.glance(learner.pixels(bars(0).images))
    learner.optimiser.zero_grad(set_to_none=True)
    learner._kept(glance).backward()
    assert learner.classifier.weight.grad is not None
    assert all(weight.grad is None for weight in learner.net.parameters())


def test_dreams_are_of_the_others_unless_asked_for() -> None:
    assert taught()._dreamable() == [0]
    assert taught(snapshot_every=14)._dreamable() == [0]
    assert taught(snapshot_every=14, dream_current=True)._dreamable() == [0, 1]
    assert taught(clustering=False)._dreamable() == []
    assert taught(clustering=False, snapshot_every=5)._dreamable() == [0]


def test_dreams_hold_the_past() -> None:
    """Light bars, then dark ones for long: with dreams light ones are drawn better afterwards."""

    def error(dreaming: bool) -> float:
        learner = taught(n_light=60, n_dark=60, dreaming=dreaming)
        with torch.no_grad():
            return float(learner.drawn(learner.glance(learner.pixels(bars(99).images)), 0).error)

    assert error(dreaming=True) < 0.8 * error(dreaming=False)


def test_c_goes_on_if_it_is_not_to_restart() -> None:
    settings = {"capacity_step": 0.5, "capacity_most": 25.0}
    # Twelve steps of light bars and, of four batches of dark ones, three steps: the first was in doubt.
    assert taught(**settings, capacity_restarts=False).environments.present.capacity == pytest.approx(7.5)
    assert taught(**settings).environments.present.capacity != pytest.approx(7.5)


@pytest.mark.parametrize(("n_dark", "share"), [(0, 1.0), (2, 0.1), (3, 0.2)])
def test_steps_are_small_after_an_arrival(n_dark: int, share: float) -> None:
    """Of dark bars the first batch is in doubt, and only from the second on something is learned."""
    steps = taught(n_dark=n_dark, warm_up=9).optimiser.param_groups[0]["lr"]
    assert steps == pytest.approx(share * QUICK["learning_rate"])
    assert taught(n_dark=n_dark).optimiser.param_groups[0]["lr"] == QUICK["learning_rate"]


def test_what_no_drawing_can_avoid_is_no_error() -> None:
    """Of gray pixels a perfect drawing is as unsure as of the throw of a coin: ln 2 nats each."""
    gray = torch.full((8, 1, 16, 16), 0.5)
    assert Vase(**QUICK).glance(gray).floor == pytest.approx(256 * np.log(2), rel=1e-5)
    assert Vase(**QUICK, excess=False).glance(gray).floor == 0


def test_when_there_is_no_room_nothing_new_is_found() -> None:
    assert len(taught(n_environments=1).environments.known) == 1


def test_used_latents_by_nats_and_by_noise(traveller: tuple[Vase, list[Any]]) -> None:
    by_nats = traveller[0].environments.known[0]
    assert (by_nats.used == (by_nats.nats - by_nats.atypical > 0.1)).all()
    other = loaded(traveller[0], used_by="noise")
    other._find_used(0)
    by_noise = other.environments.known[0].used
    assert by_noise[by_nats.nats > 0.5].all()
    assert not by_noise[by_nats.nats < 0.02].any()


@pytest.mark.parametrize("exploration", ["imagined", "random"])
def test_exploring_moves_half_of_the_batch_and_opens_what_varies_elsewhere(exploration: str) -> None:
    learner = taught(exploration=exploration)
    there = learner.environments
    there.known[0].used[:] = np.arange(12) < 2
    there.present.mask = np.arange(12) >= 2
    glance = learner.glance(learner.pixels(bars(0, still=True).images))
    explored, missed = learner._explored(glance)
    assert (explored.pixels[16:] == glance.pixels[16:]).all()
    assert (explored.pixels[:16] != glance.pixels[:16]).any()
    assert (explored.opened[:16, :2] == 1).all()
    assert explored.opened.sum() == 32
    assert (float(missed.detach()) > 0) == (exploration == "imagined")
    there.present.mask = np.ones(12, bool)
    assert learner._explored(glance)[0] is glance


def test_what_exploration_opens_is_not_the_environments_own() -> None:
    """Else a resting image would differ from its own environment, and one would be made up."""
    learner = taught(exploration="random")
    there = learner.environments
    there.known[0].used[:] = np.arange(12) < 2
    there.present.mask = np.arange(12) >= 2
    explored, _ = learner._explored(learner.glance(learner.pixels(bars(0, dark=True).images)))
    drawn = learner.drawn(explored, there.current)
    assert (drawn.nats[:2] > 0).all()
    there.present.nats[:] = 0.0
    learner.note(explored, drawn)
    assert (there.present.nats[:2] == 0).all()
    assert (there.present.nats[2:] > 0).all()


def test_impossible_settings_are_refused() -> None:
    for settings, sentence in (
        ({"decoder_weight": -1}, "decoder_weight is -1"),
        ({"reach": 3}, "reach is 3"),
        ({"kappa": 0.9}, "kappa is 0.9"),
        ({"mask_low": 0.6}, "mask_low is 0.6"),
        ({"n_environments": 0}, "n_environments is 0"),
        ({"dream_size": -1}, "dream_size is -1"),
    ):
        with pytest.raises(BadInput, match=sentence):
            Vase(**{**QUICK, **settings})
