import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn.memory import OnDiskMemory
from everlearn.streams import sprites

from .outcomes import Run

STREAM = ("--image-size", "32", "--classes-per-task", "3")


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shelf(run: Run, _here: None) -> str:
    """A shelf with the six classes of two tasks."""
    assert run("memory", "make", "shelf", "--image-size", "32").code == 0
    assert run("memory", "fill", "shelf", *STREAM, "--tasks", "0:2").code == 0
    return "shelf"


def facts(run: Run, *words: str) -> dict[str, object]:
    outcome = run("memory", *words, "--json")
    assert outcome.code == 0, outcome.err
    return dict(json.loads(outcome.out))


def draw(path: str, image: np.ndarray) -> str:
    Path(path).parent.mkdir(exist_ok=True)
    Image.fromarray(image).save(path)
    return path


def exemplar(label: int) -> np.ndarray:
    return sprites(image_size=32, classes_per_task=3).task(label // 3).exemplars.images[label % 3]


def test_filling_again_goes_on(run: Run, shelf: str) -> None:
    done = facts(run, "fill", shelf, *STREAM, "--tasks", "0:3")
    assert (done["added"], done["images"]) == (3, 9)
    listed = facts(run, "list", shelf)
    assert [each["label"] for each in listed["classes"]] == list(range(9))  # type: ignore[attr-defined]
    assert "9 images of 9 classes" in run("memory", "list", shelf).out


def test_a_image_is_found_renamed_and_forgotten(run: Run, shelf: str) -> None:
    image = draw("four.png", exemplar(4))
    facts(run, "rename", shelf, "4", "boot")
    best, second = facts(run, "find", shelf, image, "--k", "2")["found"]  # type: ignore[misc]
    assert (best["label"], best["name"], best["distance"]) == (4, "boot", 0)
    assert second["distance"] > 0
    assert "boot" in run("memory", "find", shelf, image).out
    gone = facts(run, "forget", shelf, "boot")
    assert (gone["label"], gone["forgotten"], gone["images"]) == (4, 1, 5)
    kept = b"".join(path.read_bytes() for path in Path(shelf).iterdir())
    assert all(row.tobytes() not in kept for row in exemplar(4) if len(set(row.tolist())) > 8)
    assert facts(run, "find", shelf, image)["found"][0]["label"] != 4  # type: ignore[index]


def test_images_come_from_files_and_folders(run: Run, shelf: str) -> None:
    chance = np.random.Generator(np.random.Philox(1))
    for path in ("zoo/ape.png", "zoo/bear.png", "zoo/.hidden.png"):
        draw(path, chance.integers(0, 255, (32, 32), dtype=np.uint8))
    Path("zoo/cat").mkdir()
    for i in range(2):
        draw(f"zoo/cat/{i}.png", chance.integers(0, 255, (32, 32), dtype=np.uint8))
    assert facts(run, "add", shelf, "zoo")["added"] == 4
    assert facts(run, "add", shelf, "zoo")["added"] == 0
    assert facts(run, "add", shelf, "zoo/ape.png", "--name", "monkey")["added"] == 1
    with OnDiskMemory(shelf) as held:
        assert held.names() == {6: "ape", 7: "bear", 8: "cat", 9: "monkey"}
        assert len(held.images_of(8)) == 2
    found = facts(run, "find", shelf, "zoo/cat/1.png", "--k", "1")["found"]
    assert found == [{"label": 8, "name": "cat", "distance": 0.0}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("make shelf", "'shelf' is not empty; give a new folder"),
        ("make new --image-size 0", "image_shape is 0"),
        ("find nowhere four.png", "there is no on-disk memory in 'nowhere'"),
        ("find shelf nothing.png", "cannot use 'nothing.png'"),
        ("find shelf shelf/labels", "is not an image"),
        ("find shelf four.png --k 0", "k is 0"),
        ("fill shelf --tasks 0:2", "images have shape"),
        ("fill shelf --tasks x", "'x' names no task"),
        ("forget shelf 99", "nothing is remembered of label 99"),
        ("forget shelf boat", "unknown class 'boat'; did you mean 'boot'?"),
        ("rename shelf 1 \n", "is no valid class name"),
        ("add shelf four.png --label -1", "label is -1"),
        ("add shelf four.png --label 1 --name x", "label 1 exists already"),
        ("add shelf empty", "holds no images"),
        ("add shelf empty --name x", "leave --label and --name out"),
        ("list shelf -o all.png", "leave --out out"),
    ],
)
def test_careless_words(run: Run, shelf: str, words: str, said: str) -> None:
    draw("four.png", exemplar(4))
    Path("empty").mkdir()
    facts(run, "rename", shelf, "2", "boot")
    before = facts(run, "list", shelf)
    outcome = run("memory", *words.split(" "))
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert facts(run, "list", shelf) == before


def test_a_shelf_that_is_open_is_left_alone(run: Run, shelf: str) -> None:
    with OnDiskMemory(shelf):
        assert "is open in process" in run("memory", "forget", shelf, "1").err
