"""A memory is taught with one image of each thing, recognises it, and is edited, moved and erased."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from everlearn import Recogniser
from everlearn.errors import BadInput
from tests.recognition.things import N_THINGS, photo, thing


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A memory of eight things, compared by gradients, which need no weights."""
    path = tmp_path_factory.mktemp("recogniser") / "memory"
    with Recogniser.open(path, features="gradients") as memory:
        for number in range(N_THINGS):
            memory.teach(thing(number), f"thing {number}")
    return path


def files_of(memory):
    """The content of each file."""
    return {path.name: path.read_bytes() for path in memory.folder.iterdir()}


POSES = [
    {"angle": 45.0 * turn, "scale": 0.35 + 0.05 * turn, "x": turn / 7, "y": 1 - turn / 7} for turn in range(8)
]
LIGHTS = [{"gain": 0.6}, {"background": (120, 120, 120)}, {"background": (60, 90, 160), "gain": 0.8}]


def test_things_are_recognised_in_all_poses_and_lights(folder):
    with Recogniser(folder) as memory:
        for number in range(N_THINGS):
            asked = [photo(number, **pose, **LIGHTS[i % 3]) for i, pose in enumerate(POSES)]
            assert [answer.best for answer in memory.ask(asked)] == [f"thing {number}"] * len(asked)


def test_sizes_of_images_do_not_matter(memory):
    for size in (60, 200, 900):
        assert memory.ask(photo(3, angle=100, size=size))[0].best == "thing 3"


def test_untaught_things_have_lower_confidence(memory):
    others = memory.ask([photo(number, angle=30.0 * number) for number in range(N_THINGS, N_THINGS + 20)])
    known = memory.ask([photo(number, angle=30.0 * number) for number in range(N_THINGS)])
    above = [a.confidence > b.confidence for a in known for b in others]
    assert np.mean(above) >= 0.9
    assert sum(answer.name is None for answer in others) > len(others) / 2
    assert sum(answer.name is not None for answer in known) > len(known) / 2
    for answer in (*others, *known):
        assert (answer.name is None) == (answer.status == "unknown")


def test_an_answer_says_how_it_was_found(memory):
    answer = memory.ask([photo(2, angle=70)])[0]
    assert (answer.name, answer.best, answer.status) == ("thing 2", "thing 2", "known")
    assert answer.runner_up not in (None, "thing 2")
    assert answer.method == "alignment"
    center = answer.transform @ [0, 0, 1]
    assert np.abs(center[:2] / center[2] - 99.5).max() < 6  # the thing is in the middle of the image


def test_forgotten_classes_leave_no_byte(memory):
    stored = memory.exemplars("thing 5")[0]
    needle = stored[64, 40:80].tobytes()
    content = b"".join(files_of(memory).values())
    assert needle in content
    assert memory.forget("thing 5") >= 1
    assert "thing 5" not in memory.names
    content = b"".join(files_of(memory).values())
    assert needle not in content
    assert b"thing 5" not in content
    assert memory.ask(photo(5))[0].best != "thing 5"


def test_names_survive_closing_and_moving(memory, tmp_path):
    memory.rename("thing 1", "blue mug")
    memory.teach(photo(1, angle=15), "blue mug")
    assert memory.n_images("blue mug") == 2
    memory.close()
    memory.folder.rename(tmp_path / "moved")
    with Recogniser.open(tmp_path / "moved") as again:
        assert "blue mug" in again.names
        assert again.ask(photo(1, angle=200))[0].name == "blue mug"


def test_an_empty_memory_recognises_nothing(tmp_path):
    with Recogniser.open(tmp_path / "new", features="gradients") as memory:
        assert memory.names == []
        answer = memory.ask(photo(0))[0]
        assert (answer.name, answer.best, answer.status, answer.confidence) == (None, None, "unknown", 0.0)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda m: m.teach(thing(1), "other"), "has been taught as 'thing 1'"),
        (lambda m: m.teach(thing(9), " "), "is no valid class name"),
        (lambda m: m.teach(np.zeros((4, 4, 4), np.uint8), "nothing"), "the image is empty"),
        (lambda m: m.rename("thing 1", "thing 2"), "there is a class 'thing 2' already"),
        (lambda m: m.forget("thing 77"), "unknown class 'thing 77'; did you mean"),
        (lambda m: m.ask(["nowhere.jpg"]), "there is no image 'nowhere.jpg'"),
    ],
)
def test_invalid_edits_change_nothing(memory, edit, sentence):
    before = files_of(memory)
    with pytest.raises(BadInput, match=sentence):
        edit(memory)
    assert files_of(memory) == before


@pytest.mark.parametrize("size", [(8, 8), (9, 2), pytest.param((2000, 40), marks=pytest.mark.more)])
def test_odd_sizes_are_taught_and_asked(tmp_path, size):
    with Recogniser.open(tmp_path / "new", features="gradients") as memory:
        memory.teach(Image.new("RGB", size, (200, 30, 30)), "red")
        assert memory.ask(Image.new("RGB", size, (200, 30, 30)))[0].best == "red"
        for other in ((1, 1), (1, 3)):
            assert memory.ask(Image.new("RGB", other, (200, 30, 30)))[0].best == "red"


def test_images_of_a_few_pixels_are_not_taught(memory):
    before = files_of(memory)
    with pytest.raises(BadInput, match="the image is 1 x 1 pixels; give one of at least 8"):
        memory.teach(np.zeros((1, 1), np.uint8), "dot")
    assert files_of(memory) == before


def test_a_memory_of_an_earlier_version_is_refused(tmp_path):
    with Recogniser.open(tmp_path / "memory", features="gradients") as memory:
        memory.settings = {**memory.settings, "version": 1}
    with pytest.raises(BadInput, match="earlier version; teach its images again"):
        Recogniser.open(tmp_path / "memory")


def test_a_photo_whose_smooth_parts_are_taken_for_background_is_also_stored_whole(tmp_path):
    y, x = np.mgrid[:120, :120]
    gray = np.where(abs(y - 60 - 20 * np.sin(x / 15)) < 4, 40, 150).astype(np.uint8)
    gray[2:6, 2:6] = gray[-6:-2, -6:-2] = 40
    with Recogniser.open(tmp_path / "memory", features="gradients") as memory:
        stored = memory.teach(np.repeat(gray[..., None], 3, axis=2), "vessels")
    assert len(stored) == 2
    assert (stored[1, ..., 3] > 127).mean() > 0.7


def test_many_images_are_taught_at_once(tmp_path):
    with Recogniser.open(tmp_path / "memory", features="gradients") as memory:
        names = [f"thing {number}" for number in range(N_THINGS)]
        memory.teach_all([thing(number) for number in range(N_THINGS)], names)
        assert memory.names == names
        assert memory._memory.columns("calibration").any()
        answers = memory.ask([photo(number, angle=50.0 * number) for number in range(N_THINGS)])
        assert [answer.best for answer in answers] == names
        with pytest.raises(BadInput, match="1 images have 2 names"):
            memory.teach_all([thing(9)], ["a", "b"])


ASK = """
import sys

import numpy as np
from everlearn import Recogniser
with Recogniser(sys.argv[1]) as memory:
    answers = memory.ask([np.load(path) for path in sys.argv[2:]])
heavy = {"torch", "pydantic", "scipy.linalg", "numba.np.arraymath"} & set(sys.modules)
print([answer.best for answer in answers], sorted(heavy))
"""


def test_a_first_answer_loads_no_package_that_it_does_not_need(folder, tmp_path):
    """Their import takes longer than the answer; numba needs SciPy only to compile."""
    rng = np.random.default_rng(0)
    asked = {"plain": photo(4, angle=50), "scene": rng.integers(0, 255, (96, 96, 3), np.uint8)}
    for name, image in asked.items():
        np.save(tmp_path / f"{name}.npy", image)
    command = [sys.executable, "-c", ASK, str(folder), *(str(tmp_path / f"{name}.npy") for name in asked)]
    for _ in range(2):  # the first process may compile
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("['thing 4', ")
    assert done.stdout.strip().endswith("] []")
