"""What a learner makes of an image is what it would answer."""

from pathlib import Path

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.learners import build
from everlearn.runs import Record
from everlearn.streams import sprites
from everlearn.studio.memory_editor import Draft, Forget
from everlearn.studio.model_views import LEADING, recognised, remembers


@pytest.fixture
def draft(records: Path) -> Draft:
    return Draft(Record(records / "dcl"))


def test_the_answer_is_the_learners(draft: Draft) -> None:
    for label in draft.memory.classes():
        image = draft.memory.images_of(label)[0]
        found = recognised(draft.learner, image)
        assert found["label"] == label == int(draft.learner.predict(image[None])[0])
        assert found["novelty"] == pytest.approx(float(draft.learner.novelty(image[None])[0]))  # type: ignore[attr-defined]
        assert found["leading"][0]["label"] == label
        assert found["leading"][0]["residual"] < 1


def test_the_leading_memories_come_best_first(draft: Draft) -> None:
    images = sprites(image_size=16, factor_values=2).task(0).train.images[:5]
    for image in images:
        found = recognised(draft.learner, np.array(image))
        residuals = [each["residual"] for each in found["leading"]]
        assert len(residuals) == min(LEADING, len(draft.memory))
        assert residuals == sorted(residuals)
        assert set(found["factors"]) == {"scale", "angle", "x", "y"}
        assert found["upright"].startswith("data:image/png;base64,")


def test_a_forgotten_class_is_no_answer_any_more(draft: Draft) -> None:
    image = draft.memory.images_of(3)[0]
    draft.edit(Forget(3), seen=0)
    found = recognised(draft.learner, image)
    assert found["label"] != 3
    assert 3 not in [each["label"] for each in found["leading"]]
    draft.undo(seen=1)
    assert recognised(draft.learner, image)["label"] == 3


def test_who_cannot_be_asked_says_so(draft: Draft) -> None:
    image = np.zeros((16, 16), np.uint8)
    with pytest.raises(BadInput, match="does not answer with an image"):
        recognised(build("nearest", image_shape=(16, 16), seed=0), image)
    with pytest.raises(BadInput, match="remembers nothing"):
        recognised(build("dcl", image_shape=(16, 16), seed=0), image)
    assert [name for name in ("dcl", "dcl-paper", "er", "nobody") if remembers(name)] == ["dcl", "dcl-paper"]
