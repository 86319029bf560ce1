"""A memory keeps at most k images of each class, by three policies; they vote, or the best one counts."""

import numpy as np
import pytest

from everlearn import Recogniser
from everlearn.errors import BadInput
from everlearn.recognition.exemplar_selection import ExemplarSelection
from everlearn.recognition.similarity import MEAN_WEIGHT
from tests.recognition.things import photo, thing

POINTS = np.array([[0.0], [9.0], [5.0]], np.float32)


def removed(policy, numbers=(3, 4, 7), n_taught=3, mean=(4.0,)):
    return ExemplarSelection(2, policy).removed(
        np.array(numbers), n_taught, POINTS, np.array(mean, np.float32)
    )


def test_first_keeps_the_old_images_and_herding_those_around_the_mean():
    assert removed("first") == 2
    assert removed("herding") == 1  # 5 is nearest to 4, then 0 with 5 has the mean 2.5, and 9 with 5 has 7
    assert removed("herding", mean=(7.0,)) == 0
    assert ExemplarSelection(3, "first").removed(np.arange(3), 3, POINTS, POINTS[0]) is None
    assert ExemplarSelection().removed(np.arange(3), 3, POINTS, POINTS[0]) is None


def test_random_keeps_each_image_equally_often():
    kept = np.zeros(8)
    for start in range(0, 3000, 8):
        numbers = [start]
        for n in range(1, 8):
            numbers.append(start + n)
            gone = ExemplarSelection(2, "random").removed(
                np.array(numbers), n + 1, np.zeros((len(numbers), 1)), np.zeros(1)
            )
            if gone is not None:
                numbers.pop(gone)
        kept[np.array(numbers) - start] += 1
    assert kept.sum() == 2 * 375
    assert np.abs(kept / 375 - 0.25).max() < 0.08


@pytest.mark.parametrize("policy", ["first", "random", "herding"])
def test_a_memory_keeps_k_images_and_the_name(tmp_path, policy):
    with Recogniser.open(tmp_path / "memory", features="gradients", keep=2, policy=policy) as memory:
        memory.teach(thing(1), "other")
        stored = [memory.teach(photo(0, angle=30.0 * turn), "mug") for turn in range(5)]
        assert (memory.n_images("mug"), memory.n_images("other"), memory.names) == (2, 1, ["mug", "other"])
        kept = {each[0].tobytes() for each in memory.images_of("mug")}
        assert kept <= {each[0].tobytes() for each in stored}
        if policy == "first":
            assert kept == {each[0].tobytes() for each in stored[:2]}
        assert memory.ask(photo(0, angle=100))[0].best == "mug"
    content = b"".join(path.read_bytes() for path in memory.folder.iterdir())
    for each in stored:  # what is not kept is erased
        assert (each[0, 64, 40:80].tobytes() in content) == (each[0].tobytes() in kept)
    with Recogniser(memory.folder) as again:
        assert (again.selection, again.names) == (ExemplarSelection(2, policy), ["mug", "other"])
        assert (again._memory.columns("taught")[again._memory.labels() == again._label("mug")] == 5).all()


def test_settings_of_a_memory_can_be_changed_and_are_checked(tmp_path):
    with Recogniser.open(tmp_path / "memory", features="gradients") as memory:
        assert memory.selection == ExemplarSelection()
    with Recogniser.open(tmp_path / "memory", keep=3, combine="best") as memory:
        assert memory.selection == ExemplarSelection(3, "first", "best")
    for wrong, sentence in (
        ({"keep": 0}, "keep is 0; it must be between 1 and"),
        ({"policy": "newest"}, "unknown policy 'newest'"),
        ({"combine": "all"}, "unknown combine 'all'"),
    ):
        with pytest.raises(BadInput, match=sentence):
            Recogniser.open(tmp_path / "other", features="gradients", **wrong)
    assert not (tmp_path / "other").exists()


def test_images_vote_unless_only_the_best_counts(tmp_path):
    for combine in ("vote", "best"):
        with Recogniser.open(tmp_path / combine, features="gradients", combine=combine) as memory:
            memory.teach(thing(2), "other")
            memory.teach(thing(0), "mixed")
            memory.teach(thing(5), "mixed")
            rows = memory.gallery.similarity.with_class_means(np.array([0.5, 0.9, 0.1]))
        assert rows[0] == 0.5
        # The mean of different images is shorter than they are, so it is more similar than they are.
        of_mean = (rows[1] * (1 + MEAN_WEIGHT) - 0.9) / MEAN_WEIGHT
        assert (0.5 < of_mean < 0.8) == (combine == "vote")
        assert rows[2] == pytest.approx(
            (0.1 + MEAN_WEIGHT * of_mean) / (1 + MEAN_WEIGHT) if combine == "vote" else 0.1
        )
