"""A taught thing is found beside other things in front of a plain background."""

import numpy as np
import pytest

from everlearn import Recogniser
from everlearn.recognition.parts import MAX_ALONE, parts_alone
from everlearn.streams.images.background import PlainBackground
from tests.recognition.things import photo, thing

TAUGHT = range(5)


def beside(first: int, second: int) -> np.ndarray:
    """Two separate things on one canvas."""
    found = photo(first, angle=50, scale=0.4, x=0.1, y=0.1)
    return np.minimum(found, photo(second, scale=0.38, x=0.9, y=0.9))


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with Recogniser.open(tmp_path_factory.mktemp("parts") / "memory", features="gradients") as memory:
        memory.teach_all([thing(number) for number in TAUGHT], [f"thing {number}" for number in TAUGHT])
        yield memory


@pytest.mark.parametrize("number", TAUGHT)
def test_a_thing_is_recognised_beside_one_that_was_not_taught(memory, number):
    answer = memory.ask(beside(number, 6))[0]
    assert answer.name == f"thing {number}"


def test_each_part_is_alone_in_its_image():
    image = beside(0, 6)
    first, second = parts_alone(image, PlainBackground.find(image))
    for part, box in ((first, np.s_[:100, :100]), (second, np.s_[120:, 120:])):
        assert (part[box] < 250).any()
    assert (first[120:, 120:] > 250).all()
    assert (second[:90, :90] > 250).all()


def test_a_single_thing_or_a_pattern_has_no_parts_and_of_many_parts_the_largest_are_kept():
    assert parts_alone(photo(0), PlainBackground.find(photo(0))) == []
    assert parts_alone(photo(0), None) == []
    many = np.full((100, 100, 3), 255, np.uint8)
    for i in range(6):
        many[10 + 14 * i : 16 + 14 * i, 20 : 50 + 5 * i] = 60
    found = parts_alone(many, PlainBackground.find(many))
    widths = [int((each[..., 0] < 128).any(axis=0).sum()) for each in found]
    assert len(found) == MAX_ALONE
    assert widths == [55, 50, 45, 40]
