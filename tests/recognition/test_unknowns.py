"""Unknown images are grouped, named once and known from then on; groups are erased without a trace."""

import numpy as np
import pytest

from everlearn import Recogniser
from everlearn.errors import BadInput
from everlearn.recognition.unknowns import FOLDER
from tests.recognition.things import photo, thing

pytestmark = pytest.mark.more

N_KNOWN = 4
FIRST, SECOND = 5, 7
"""Things that are not taught."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A memory of four things that has seen two unknown ones, the first of them twice."""
    path = tmp_path_factory.mktemp("unknowns") / "memory"
    with Recogniser.open(path, features="gradients") as memory:
        for number in range(N_KNOWN):
            memory.teach(thing(number), f"thing {number}")
        answers = memory.ask_and_keep([photo(FIRST), photo(SECOND, angle=20), photo(FIRST, angle=90)])
    assert [(each.name, each.group.number, each.group.n_images) for each in answers] == [
        (None, 1, 1), (None, 2, 1), (None, 1, 2),
    ]  # fmt: skip
    return path


def files_of(memory):
    """The content of each file, of the groups too; a lock file states who opened it last."""
    paths = (path for path in memory.folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): path.read_bytes() for path in paths}


def test_a_group_is_named_once_and_known_from_then_on(memory):
    assert memory.name_unknown(1, "blue mug") == 2
    assert [group.number for group in memory.unknowns] == [2]
    assert memory.n_images("blue mug") == 2
    assert memory.ask(photo(FIRST, angle=200))[0].name == "blue mug"
    kept = memory.ask_and_keep([photo(FIRST, angle=45), photo(1)])
    assert [(each.name, each.group) for each in kept] == [("blue mug", None), ("thing 1", None)]


def test_images_of_a_group_are_added_to_a_class_that_exists(memory):
    memory.name_unknown(2, "thing 3")
    assert memory.n_images("thing 3") == 2
    assert memory.names == [f"thing {number}" for number in range(N_KNOWN)]


def test_asking_keeps_nothing(memory):
    before = files_of(memory)
    assert memory.ask(photo(FIRST))[0].group is None
    assert [str(group) for group in memory.unknowns] == ["unknown 1, seen 2 times", "unknown 2, seen 1 time"]
    assert files_of(memory) == before


def test_discarded_groups_leave_no_byte_and_numbers_are_not_used_again(memory):
    (stored,) = memory._unknowns._store.images_of(memory._unknowns._name_of(2))
    needle = stored[0, 64, 40:80].tobytes()
    assert needle in b"".join(files_of(memory).values())
    assert memory.discard_unknown(2) == 1
    assert needle not in b"".join(files_of(memory).values())
    assert memory.ask_and_keep(photo(SECOND))[0].group.number == 3


def test_an_interrupted_naming_is_completed_without_doubles(memory):
    group = memory._unknowns._name_of(1)
    memory.adopt(memory._unknowns._store.images_of(group)[:1], "blue mug")  # and the process ends
    memory.name_unknown(1, "blue mug")
    assert memory.n_images("blue mug") == 2


def test_groups_are_part_of_the_folder(memory, tmp_path):
    before = memory.unknowns
    memory.close()
    memory.folder.rename(tmp_path / "moved")
    with Recogniser(tmp_path / "moved") as again:
        assert again.unknowns == before
    assert before[0].first_seen.endswith("+00:00")


def test_a_memory_without_unknown_images_has_no_groups(tmp_path):
    with Recogniser.open(tmp_path / "new", features="gradients") as memory:
        assert memory.unknowns == []
        assert not (memory.folder / FOLDER).exists()
        with pytest.raises(BadInput, match="there is no unknown group 1; none are kept"):
            memory.discard_unknown(1)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda m: m.name_unknown(7, "mug"), "there is no unknown group 7; the groups are 1, 2"),
        (lambda m: m.name_unknown(1, " "), "is no valid class name"),
        (lambda m: m.ask_and_keep(np.zeros((4, 4, 4), np.uint8)), "the image is empty"),
    ],
)
def test_invalid_edits_change_nothing(memory, edit, sentence):
    before = files_of(memory)
    with pytest.raises(BadInput, match=sentence):
        edit(memory)
    assert files_of(memory) == before


def test_an_image_is_not_known_by_two_names(memory):
    memory.teach(photo(SECOND, angle=20), "cup")
    with pytest.raises(BadInput, match="has been taught as 'cup'"):
        memory.name_unknown(2, "mug")
    memory.name_unknown(2, "cup")
    assert (memory.n_images("cup"), len(memory.unknowns)) == (1, 1)
