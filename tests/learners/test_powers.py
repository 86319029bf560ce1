"""What a learner can do beyond learning is asked of the learner, not of the names of its attributes."""

import pytest

from everlearn.learners import EditsMemory, learner_class


@pytest.mark.parametrize(
    ("name", "edits"), [("dcl", True), ("er", False), ("naive", False), ("nearest", False)]
)
def test_only_a_memory_of_exemplars_can_be_edited(name: str, edits: bool) -> None:
    """Replay has a memory too, but nobody could say of whom its images are."""
    assert isinstance(learner_class(name).tiny(), EditsMemory) is edits
