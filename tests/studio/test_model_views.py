import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.learners import build
from everlearn.runs import Record, RunState
from everlearn.runs.memory_edit import load_run
from everlearn.streams import sprites
from everlearn.streams.stream import Images
from everlearn.studio.memory_editor import ClassEdit, Session
from everlearn.studio.model_views import (
    N_CANDIDATES,
    N_INFERRED,
    TRAVERSAL_VALUES,
    environment_curves,
    environment_learner,
    environment_table,
    matches_exemplars,
    recognition,
    reconstructions,
    task_image,
)

from .live_server import Studio


def pixels(data_url: str) -> Images:
    content = base64.b64decode(data_url.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(content)))


@pytest.fixture
def session(records: Path) -> Session:
    return Session(Record(records / "dcl"))


@pytest.fixture(scope="module")
def vase_run(vase_records: Path) -> RunState:
    return load_run(Record(vase_records / "vase"))


def test_recognition_shows_the_prediction_of_the_learner(session: Session) -> None:
    for label in session.memory.classes():
        image = session.memory.images_of(label)[0]
        found = recognition(session.learner, image)
        assert found["label"] == label == int(session.learner.predict(image[None])[0])
        novelty = float(session.learner.novelty(image[None])[0])  # type: ignore[attr-defined]
        assert found["novelty"] == pytest.approx(novelty)
        assert np.array_equal(pixels(found["input"]), image)
        assert found["candidates"][0]["label"] == label
        assert found["candidates"][0]["residual"] < 1


def test_candidates_are_sorted_by_residual(session: Session) -> None:
    for image in sprites(image_size=16, factor_values=2).task(0).train.images[:5]:
        found = recognition(session.learner, np.array(image))
        residuals = [each["residual"] for each in found["candidates"]]
        assert len(residuals) == min(N_CANDIDATES, len(session.memory))
        assert residuals == sorted(residuals)
        assert set(found["factors"]) == {"scale", "angle", "x", "y"}
        assert pixels(found["normalised"]).shape == (16, 16)


def test_a_forgotten_class_is_not_predicted(session: Session) -> None:
    image = session.memory.images_of(3)[0]
    session.edit(ClassEdit("forget", 3), version=0)
    found = recognition(session.learner, image)
    assert found["label"] != 3
    assert 3 not in [each["label"] for each in found["candidates"]]
    session.undo(version=1)
    assert recognition(session.learner, image)["label"] == 3


def test_recognition_needs_a_learner_with_exemplars() -> None:
    image = np.zeros((16, 16), np.uint8)
    with pytest.raises(BadInput, match="does not match exemplars"):
        recognition(build("nearest", image_shape=(16, 16), seed=0), image)
    with pytest.raises(BadInput, match="memory of this learner is empty"):
        recognition(build("dcl", image_shape=(16, 16), seed=0), image)
    names = ("dcl", "dcl-paper", "er", "unknown")
    assert [name for name in names if matches_exemplars(name)] == ["dcl", "dcl-paper"]


@pytest.mark.parametrize("n_bytes", [0, 1, 3, 4, 4 * 7 * 7, 4 * 16 * 16 - 1, 4 * 16 * 17, 4 * 513 * 513])
def test_a_canvas_must_be_square(shared_studio: Studio, n_bytes: int) -> None:
    response = shared_studio.post("/api/recognition", bytes(n_bytes), record="dcl")
    assert response.status_code == 400
    assert "RGBA pixels of a square image" in response.json()["error"]


def test_environments_are_those_of_the_learner(vase_run: RunState) -> None:
    table, learner = environment_table(vase_run), environment_learner(vase_run.learner)
    known, changes = learner.environment_info(), learner.environment_changes() or []
    assert len(known) >= 2
    assert [each["n_batches"] for each in table["environments"]] == [each.n_batches for each in known]
    assert table["tasks"] == ["sprites", "inverted-sprites"]
    assert table["current"] == changes[-1][1]


def test_environment_curves_are_logged_values(vase_records: Path) -> None:
    record = Record(vase_records / "vase")
    steps = [event["losses"] for event in record.events() if event["event"] == "train-step"]
    curves = environment_curves(record)
    assert [y for _, y in curves["environment"]] == [step["environment"] for step in steps]
    assert [y for _, y in curves["active_latents"]] == [step["active_latents"] for step in steps]
    assert curves["capacity"][0][0] == pytest.approx(1 / 20)


def test_an_image_is_reconstructed_in_every_environment(vase_run: RunState) -> None:
    learner, image = environment_learner(vase_run.learner), task_image(vase_run, 0, 3)
    found = reconstructions(learner, image, None)
    assert np.array_equal(pixels(found["input"]), image)
    probabilities = learner.environment_probabilities(image[None])[0]
    errors = [each["error"] for each in found["reconstructions"]]
    assert found["environment"] == int(np.argmin(errors))
    assert [each["probability"] for each in found["reconstructions"]] == pytest.approx(probabilities.tolist())
    for index, each in enumerate(found["reconstructions"]):
        latents = learner.encode(image[None]) * learner.environment_info()[index].active
        decoded = np.round(learner.decode(latents, index)[0] * 255)
        assert np.array_equal(pixels(each["image"]), decoded)
        x, p = image / 255, np.clip(learner.decode(latents, index)[0], 1e-6, 1 - 1e-6).astype(np.float64)
        likelihood = -(x * np.log(p) + (1 - x) * np.log(1 - p)).sum()
        inner = x[(x > 0) & (x < 1)]
        entropy = -(inner * np.log(inner) + (1 - inner) * np.log(1 - inner)).sum()
        assert each["error"] == pytest.approx(likelihood - entropy, rel=1e-5)


def test_the_environments_of_test_images_are_counted(vase_run: RunState) -> None:
    learner = environment_learner(vase_run.learner)
    for index, found in enumerate(environment_table(vase_run)["inferred"]):
        images = vase_run.stream.task(index).test.images[:N_INFERRED]
        errors = [
            [each["error"] for each in reconstructions(learner, x, 0)["reconstructions"]] for x in images
        ]
        n = len(learner.environment_info())
        assert found["by_error"] == np.bincount(np.argmin(errors, 1), minlength=n).tolist()
        assert sum(found["by_classifier"]) == len(images)
        assert found["batch"] == learner.infer_environment(images)


def test_a_traversal_varies_one_latent(vase_run: RunState) -> None:
    learner, image = environment_learner(vase_run.learner), task_image(vase_run, 1, 0)
    traversals = reconstructions(learner, image, 0)["traversals"]
    known = learner.environment_info()[0]
    assert sorted(each["latent"] for each in traversals) == np.flatnonzero(known.used & known.active).tolist()
    assert [each["kl"] for each in traversals] == sorted((each["kl"] for each in traversals), reverse=True)
    for each in traversals:
        latents = learner.encode(image[None]) * known.active
        for value, shown in zip(TRAVERSAL_VALUES, each["images"], strict=True):
            latents[0, each["latent"]] = value
            assert np.array_equal(pixels(shown), np.round(learner.decode(latents, 0)[0] * 255))


def test_task_images_are_test_images(vase_run: RunState) -> None:
    images = vase_run.stream.task(1).test.images
    assert np.array_equal(task_image(vase_run, 1, len(images) + 2), images[2])
    with pytest.raises(BadInput, match="not been trained on"):
        task_image(vase_run, 2, 0)


def test_environment_routes(vase_studio: Studio, shared_studio: Studio) -> None:
    canvas, route = bytes(4 * 64 * 64), "/api/environments"
    assert [each["record"] for each in vase_studio.get(f"{route}/records").json()["records"]] == ["vase"]
    assert vase_studio.get(route, record="vase").json()["tasks"] == ["sprites", "inverted-sprites"]
    post = vase_studio.post(f"{route}/reconstructions", canvas, record="vase", environment=1)
    assert post.json()["environment"] == 1
    post = vase_studio.post(f"{route}/reconstructions", canvas, record="vase", environment=9)
    assert post.status_code == 404
    assert vase_studio.get(f"{route}/image.png", record="vase", task=7).status_code == 404
    assert shared_studio.get(f"{route}/records").json()["records"] == []
    response = shared_studio.get(route, record="dcl")
    assert (response.status_code, "record of vase" in response.json()["error"]) == (400, True)
