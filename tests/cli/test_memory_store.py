from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from everlearn.memory import OnDiskMemory
from everlearn.streams import sprites

from .outcomes import Run, assert_refused

STREAM = ("--image-size", "32", "--classes-per-task", "3")


@pytest.fixture
def store(run: Run, _in_tmp_path: None) -> str:
    """An on-disk memory with the six classes of two tasks."""
    assert run("memory", "store", "create", "store", "--image-size", "32").code == 0
    assert run("memory", "store", "import", "store", *STREAM, "--tasks", "0:2").code == 0
    return "store"


def data_of(run: Run, *words: str) -> dict[str, Any]:
    return run("memory", *words, "--json").data


def write_image(path: str, image: np.ndarray) -> str:
    Path(path).parent.mkdir(exist_ok=True)
    Image.fromarray(image).save(path)
    return path


def exemplar(label: int) -> np.ndarray:
    return sprites(image_size=32, classes_per_task=3).task(label // 3).exemplars.images[label % 3]


def test_import_continues(run: Run, store: str) -> None:
    data = data_of(run, "store", "import", store, *STREAM, "--tasks", "0:3")
    assert (data["added"], data["images"]) == (3, 9)
    assert [each["label"] for each in data_of(run, "list", store)["classes"]] == list(range(9))
    assert "9 images of 9 classes" in run("memory", "list", store).out


def test_search_rename_and_forget(run: Run, store: str) -> None:
    image = write_image("four.png", exemplar(4))
    data_of(run, "rename", store, "4", "boot")
    best, second = data_of(run, "store", "search", store, image, "--k", "2")["found"]
    assert (best["label"], best["name"], best["distance"]) == (4, "boot", 0)
    assert second["distance"] > 0
    assert "boot" in run("memory", "store", "search", store, image).out
    forgotten = data_of(run, "forget", store, "boot")
    assert (forgotten["label"], forgotten["forgotten"], forgotten["images"]) == (4, 1, 5)
    left = b"".join(path.read_bytes() for path in Path(store).iterdir())
    assert all(row.tobytes() not in left for row in exemplar(4) if len(set(row.tolist())) > 8)
    assert data_of(run, "store", "search", store, image)["found"][0]["label"] != 4


def test_images_of_files_and_folders_are_added(run: Run, store: str) -> None:
    rng = np.random.Generator(np.random.Philox(1))
    for path in ("zoo/ape.png", "zoo/bear.png", "zoo/.hidden.png"):
        write_image(path, rng.integers(0, 255, (32, 32), dtype=np.uint8))
    Path("zoo/cat").mkdir()
    for i in range(2):
        write_image(f"zoo/cat/{i}.png", rng.integers(0, 255, (32, 32), dtype=np.uint8))
    assert data_of(run, "add", store, "zoo")["added"] == 4
    assert data_of(run, "add", store, "zoo")["added"] == 0
    assert data_of(run, "add", store, "zoo/ape.png", "--name", "monkey")["added"] == 1
    with OnDiskMemory(store) as memory:
        assert memory.names() == {6: "ape", 7: "bear", 8: "cat", 9: "monkey"}
        assert len(memory.images_of(8)) == 2
    found = data_of(run, "store", "search", store, "zoo/cat/1.png", "--k", "1")["found"]
    assert found == [{"label": 8, "name": "cat", "distance": 0.0}]


def test_an_interrupted_import_of_a_folder_leaves_no_class_incomplete(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pets/cat").mkdir(parents=True)
    for i in range(2):
        write_image(f"pets/cat/{i}.png", np.full((32, 32), 100 * i, np.uint8))
    add = OnDiskMemory.add
    calls = iter((True, False))

    def interrupted(*args: Any) -> None:
        if not next(calls):
            raise KeyboardInterrupt
        add(*args)

    with monkeypatch.context() as patch:
        patch.setattr(OnDiskMemory, "add", interrupted)
        run("memory", "add", store, "pets")
    data_of(run, "add", store, "pets")
    with OnDiskMemory(store) as memory:
        assert len(memory.images_of(6)) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("store create store", "'store' is not empty"),
        ("store create new --image-size 0", "image_shape is 0"),
        ("store search nowhere four.png", "'nowhere'"),
        ("store search store nothing.png", "cannot use 'nothing.png'"),
        ("store search store store/labels", "is not an image"),
        ("store search store four.png --k 0", "k is 0"),
        ("store import store --tasks 0:2", "images have shape"),
        ("store import store --tasks x", "'x' selects no task"),
        ("forget store 99", "the memory has no label 99"),
        (f"forget store {'0' * 17}12", "the memory has no label 00"),
        ("forget store boat", "unknown class 'boat'; did you mean 'boot'?"),
        ("rename store 1 \n", "is no valid class name"),
        ("add store four.png --label -1", "label is -1"),
        ("add store four.png --label 1 --name x", "label 1 exists already"),
        ("add store empty", "has no images"),
        ("add store empty --name x", "omit --label and --name"),
        ("list store -o all.png", "--out is only for records"),
    ],
)
def test_invalid_command_changes_nothing(run: Run, store: str, line: str, message: str) -> None:
    write_image("four.png", exemplar(4))
    Path("empty").mkdir()
    data_of(run, "rename", store, "2", "boot")
    before = data_of(run, "list", store)
    outcome = run("memory", *line.split(" "))
    assert_refused(outcome)
    assert message in outcome.err
    assert data_of(run, "list", store) == before


def test_locked_memory_is_rejected(run: Run, store: str) -> None:
    with OnDiskMemory(store):
        assert "is open in process" in run("memory", "forget", store, "1").err
