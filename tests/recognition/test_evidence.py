"""After alignment, the right exemplar is more similar than others, and its outline agrees."""

import numpy as np
import pytest

from everlearn import Recogniser
from everlearn.recognition.evidence import aligned_similarity, outline_overlap
from everlearn.recognition.exemplars import read_object
from everlearn.recognition.matching import View, match
from tests.recognition.things import photo, thing


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with Recogniser.open(tmp_path_factory.mktemp("evidence") / "memory", features="gradients") as memory:
        for number in range(5):
            memory.teach(thing(number), f"thing {number}")
        yield memory


def asked(memory, image):
    view = View(read_object(image), memory.features)
    return view, match(view, memory.gallery)


def evidence(memory, view, row, transform):
    return tuple(each(view, memory.gallery, row, transform) for each in (aligned_similarity, outline_overlap))


@pytest.mark.parametrize("number", range(5))
def test_the_right_exemplar_has_more_evidence_than_any_other(memory, number):
    view, found = asked(memory, photo(number, angle=70, gain=0.8))
    assert memory._names()[found.label] == f"thing {number}"
    similarity, outline = evidence(memory, view, found.row, found.transform)
    assert found.scores[4:] == (similarity, outline, 0.0, 0.0)
    assert similarity > 0.7
    assert outline > 0.85
    for row in set(range(5)) - {found.row}:  # in the same place
        other_similarity, other_outline = evidence(memory, view, row, found.transform)
        assert other_similarity < similarity - 0.1
        assert other_outline < outline


def test_pixels_behind_an_occluder_are_ignored_in_image_and_exemplar(memory):
    image = np.array(photo(1, scale=0.8))
    plain = asked(memory, image)[1]
    image[:, 86:110] = 120
    view, found = asked(memory, image)
    assert view.hidden is not None
    assert found.scores[7] == 1.0
    similarity, outline = evidence(memory, view, plain.row, plain.transform)
    assert similarity > plain.scores[4] - 0.15
    assert outline > plain.scores[5] - 0.1
    view.hidden = np.ones_like(view.hidden)
    assert evidence(memory, view, plain.row, plain.transform) == (0.0, 0.0)


def test_an_image_without_a_plain_background_has_no_outline_and_noise_is_detected(memory):
    rng = np.random.default_rng(0)
    image = np.array(photo(2))
    pattern = np.kron(rng.integers(0, 255, (25, 25, 3)), np.ones((8, 8, 1)))[: len(image), : len(image)]
    white = (image == 255).all(axis=2)
    scene = np.where(white[..., None], pattern, image).astype(np.uint8)
    assert asked(memory, scene)[1].scores[3:6:2] == (0.0, 0.0)
    noisy = (image + rng.normal(0, 20, image.shape)).clip(0, 255).astype(np.uint8)
    assert asked(memory, noisy)[1].scores[6] == 1.0
