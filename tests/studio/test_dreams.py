"""The page of VASE shows what the learner itself says of environments and images."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from everlearn import runs
from everlearn.errors import BadInput
from everlearn.runs import Play, Record
from everlearn.runs.memory_edit import opened
from everlearn.streams.stream import Images
from everlearn.studio.model_views import WALK, dreaming, environments, imagined, over_time, sample

from .browsing import chromium, visit
from .visits import Studio, serving

SETTINGS = {
    "stream.sequence": ["sprites", "inverted-sprites"],
    "stream.image_size": 16,
    "stream.images_per_stage": 1280,
    "learner.size": "tiny",
    "learner.n_latents": 6,
    "learner.max_environments": 3,
    "learner.cooldown": 0,
    "learner.patience": 1,
    "learner.capacity_step": 0.5,
    "learner.usage_min_kl": 0.01,
}
"""A run of moments that meets more than one environment."""


@pytest.fixture(scope="module")
def dreamt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dreamt")
    spec = runs.RunSpec.make(stream="environments", learner="vase", settings=SETTINGS)
    for _ in runs.record(spec, folder / "vase"):
        pass
    return folder


@pytest.fixture(scope="module")
def play(dreamt: Path) -> Play:
    return opened(Record(dreamt / "vase"))


@pytest.fixture(scope="module")
def studio(dreamt: Path) -> Iterator[Studio]:
    with serving(dreamt) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def pixels(url: str) -> Images:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.removeprefix("data:image/png;base64,")))))


def test_environments_are_the_learners_own(play: Play) -> None:
    found, learner = environments(play), dreaming(play.learner)
    known = learner.environment_info()
    assert len(found["environments"]) == len(known) >= 2
    assert [each["batches"] for each in found["environments"]] == [each.n_batches for each in known]
    assert found["stages"] == ["sprites", "inverted-sprites"]
    assert found["current"] == learner.environment_changes()[-1][1]  # type: ignore[index]


def test_time_is_told_by_what_was_written_down(dreamt: Path) -> None:
    record = Record(dreamt / "vase")
    told = [event for event in record.events() if event["event"] == "learned"]
    points = over_time(record)
    assert [y for _, y in points["environment"]] == [event["losses"]["environment"] for event in told]
    assert points["capacity"][0][0] == pytest.approx(1 / 20)


def test_a_image_is_drawn_again_in_every_environment(play: Play) -> None:
    learner, image = dreaming(play.learner), sample(play, 0, 3)
    found = imagined(learner, image, None)
    assert np.array_equal(pixels(found["seen"]), image)
    chances = learner.environment_probabilities(image[None])[0]
    assert found["chosen"] == chances.argmax()
    assert [each["chance"] for each in found["again"]] == pytest.approx(chances.tolist())
    for number, each in enumerate(found["again"]):
        latents = learner.encode(image[None]) * learner.environment_info()[number].active
        drawn = np.round(learner.decode(latents, number)[0] * 255)
        assert np.array_equal(pixels(each["image"]), drawn)


def test_a_walk_moves_one_latent_and_no_other(play: Play) -> None:
    learner, image = dreaming(play.learner), sample(play, 1, 0)
    found = imagined(learner, image, 0)
    there = learner.environment_info()[0]
    walks = found["walks"]
    assert sorted(each["latent"] for each in walks) == np.flatnonzero(there.used & there.active).tolist()
    assert [each["kl"] for each in walks] == sorted((each["kl"] for each in walks), reverse=True)
    for each in walks:
        latents = learner.encode(image[None]) * there.active
        for value, shown in zip(WALK, each["images"], strict=True):
            latents[0, each["latent"]] = value
            assert np.array_equal(pixels(shown), np.round(learner.decode(latents, 0)[0] * 255))


def test_images_are_those_of_the_stage(play: Play) -> None:
    images = play.stream.task(1).test.images
    assert np.array_equal(sample(play, 1, len(images) + 2), images[2])
    with pytest.raises(BadInput, match="not played"):
        sample(play, 2, 0)


def test_only_what_is_there_is_answered(studio: Studio, dreamt: Path) -> None:
    canvas = bytes(4 * 64 * 64)
    assert [each["record"] for each in studio.get("/api/dreams/records").json()["records"]] == ["vase"]
    assert studio.get("/api/dreams", record="vase").json()["stages"] == ["sprites", "inverted-sprites"]
    assert studio.post("/api/dreams/imagine", canvas, record="vase", environment=1).json()["chosen"] == 1
    assert studio.post("/api/dreams/imagine", canvas, record="vase", environment=9).status_code == 404
    assert studio.post("/api/dreams/imagine", canvas[:-4], record="vase").status_code == 400
    assert studio.get("/api/dreams/sample.png", record="vase", task=7).status_code == 404


def test_another_learner_does_not_dream(kept: Path) -> None:
    with serving(kept) as others:
        assert others.get("/api/dreams/records").json()["records"] == []
        answer = others.get("/api/dreams", record="dcl")
        assert (answer.status_code, "record of vase" in answer.json()["error"]) == (400, True)


def test_the_page_shows_environments_and_walks(browser: Browser, studio: Studio) -> None:
    with visit(browser, studio, "#/vase") as page:
        expect(page.locator("#chart-environment")).to_have_attribute("data-points", "2")
        expect(page.locator("tbody tr")).to_have_count(
            len(studio.get("/api/dreams", record="vase").json()["environments"])
        )
        page.get_by_role("button", name="environment 1").click()
        expect(page.get_by_role("heading", name="Traversals in environment 1")).to_be_visible()
        before = page.locator(".leading img").first.get_attribute("src")
        page.get_by_label("Stage").select_option("1")
        expect(page.locator(".leading img").first).not_to_have_attribute("src", before or "")
        page.get_by_role("button", name="environment 0").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="environment 0")).to_be_focused()
        expect(page.get_by_role("heading", name="Traversals in environment 0")).to_be_visible()
