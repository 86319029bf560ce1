import json

import numpy as np

from everlearn.evaluation.protocols.environments import (
    Environments,
    EnvironmentsResult,
    LatentUse,
    position_r2,
)
from everlearn.factors import Factors
from everlearn.learners import build
from everlearn.rng import rng_at
from everlearn.serialization import digest
from everlearn.streams import Batch, environments

N = 800
X, Y, Z = rng_at(0, "places").uniform(3 * N).reshape(3, N)
CODES = np.stack(
    [3 * X - 1.5, np.tanh(4 * (Y - 0.5)), (X - 0.5) * (Y - 0.5) * 4, X + Y + 3 * Z, Z, np.zeros(N)], axis=1
)
IMAGES, LABELS = np.zeros((N, 16, 16), np.uint8), np.zeros(N, np.int64)
VAE = {"image_shape": (16, 16), "seed": 0, "size": "tiny", "n_latents": 6}


def test_position_r2() -> None:
    linear, bent, product, mixed, other, constant = position_r2(
        CODES, Batch(IMAGES, LABELS, Factors(x=X, y=Y))
    )
    assert linear > 0.999
    assert bent > 0.98
    assert product > 0.999
    assert 0.1 < mixed < 0.3, "2 of 11 parts of its variance"
    assert other < 0.05
    assert constant == 0
    assert position_r2(CODES, Batch(IMAGES, LABELS, Factors(scale=1 + X))) == ()
    assert position_r2(CODES, Batch(IMAGES, LABELS)) == ()


def use(name: str, active: str, used: str, r2: tuple[float, ...]) -> LatentUse:
    flags = (tuple(letter == "x" for letter in text) for text in (active, used))
    return LatentUse(name=name, active=next(flags), used=next(flags), position_r2=r2)


def test_position_latents_are_shared_and_masked() -> None:
    latents = (
        use("moving-fashion", "xxxx", "xxx.", (0.9, 0.8, 0.1, 0.9)),
        use("mnist", ".xxx", "..xx", ()),
        use("moving-mnist", "xxxx", "xx.x", (0.95, 0.7, 0.0, 0.2)),
    )
    result = EnvironmentsResult(stages=(), detection=None, latents=latents)
    assert result.shared_position_latents == (0, 1), "the last is unused in the first environment"
    assert result.masked_position_latents == (0,), "the other is active where nothing moves"
    assert result.to_json()["latents"][0]["position_latents"] == [0, 1]
    assert ("used latents in mnist", "2, 3", "") in result.table().rows


def test_detection_and_latents_of_a_trained_learner() -> None:
    stream = environments(
        sequence=["moving-sprites", "sprites"], image_size=16, n_shapes=2, images_per_shape=50,
        images_per_stage=80,
    )  # fmt: skip
    learner = build("vase", **VAE)  # type: ignore[arg-type]
    for task in stream:
        for batch in task.train.batches(20):
            learner.learn(batch)
    learner.environments.changes.append((6, 0))  # type: ignore[attr-defined]  # infers the first in the second
    before = digest(learner.state())
    result = Environments(n_images=8).run(learner, stream, 2, n_batches=[4, 4])
    assert digest(learner.state()) == before
    data = result.to_json()
    assert [stage["detected"] for stage in data["stages"]] == ["new", "missed"]
    assert (data["stages"][1]["n_wrong"], data["stages"][1]["delay"]) == (1, None)
    assert [len(each["active"]) for each in data["latents"]] == [6, 6]
    assert [len(each["position_r2"]) for each in data["latents"]] == [6, 0]
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert EnvironmentsResult.from_json(data) == result


def test_learners_without_environment_inference_have_no_stages() -> None:
    stream = environments(sequence=["sprites"], image_size=16, n_shapes=2, images_per_shape=50)
    for name, options in (("cci-vae", {}), ("vase", {"environment_inference": False})):
        result = Environments(n_images=8).run(build(name, **VAE, **options), stream, 1, n_batches=[1])  # type: ignore[arg-type]
        assert (result.stages, result.detection) == ((), None)
        assert all(result.latents[0].active)
