import numpy as np
import pytest

from everlearn.shapes.philox import Word, normal_pair, philox, uniform

# Known-answer tests of Salmon et al.: counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def hexes(text: str) -> list[Word]:
    return [Word(int(word, 16)) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter: str, key: str, result: str) -> None:
    assert list(philox(*hexes(counter), *hexes(key))) == hexes(result)


def test_uniform_excludes_0_and_1() -> None:
    top = Word(0xFFFFFFFF)
    assert 0.0 < uniform(Word(0), Word(0)) < 1e-15
    assert 1 - 1e-15 < uniform(top, top) < 1.0


def test_normal_pairs_are_standard_normal() -> None:
    pairs = np.array([normal_pair(Word(1), Word(i), 0, 0) for i in range(20_000)])
    assert np.abs(pairs.mean(axis=0)).max() < 0.03
    assert np.abs(np.cov(pairs.T) - np.eye(2)).max() < 0.03
