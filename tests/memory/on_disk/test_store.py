from pathlib import Path

import numpy as np
import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.memory.on_disk import OnDiskMemory, store
from everlearn.rng import rng_at
from tests.crash.disks import FullDisk

from .edits import SHAPE, content_of, expected, image, images, small_fits, traces


def brute_force(images: np.ndarray, known: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    a, b = (each.reshape(len(each), -1).astype(float) for each in (images, known))
    distances = np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2 * a @ b.T
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, 1)


def test_content_after_each_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_fits(monkeypatch):
        states = expected(tmp_path / "memory")
    assert [sorted(state) for state in states[:4]] == [[], [1, 2, 3], [1, 3], [1, 3, 4, 5]]
    assert states[1][2] == ([image(2).tobytes()], "two")
    assert states[3][1] == (sorted([image(1).tobytes(), image(11).tobytes()]), "one")
    assert states[4][4][1] == "vier"
    assert states[5][1] == ([image(11).tobytes()], "one")
    assert states[8][4] == ([image(44).tobytes()], "four again")
    assert sorted(states[-1]) == [3, 5, 10, 11, *range(13, 20)]
    with OnDiskMemory(tmp_path / "memory") as again:
        assert content_of(again) == states[-1]
        assert len(again) == 11


@pytest.mark.parametrize("shape", [(12, 9), (6, 5, 3)])
@pytest.mark.parametrize("fitted", [50, 10**6])
def test_search_equals_brute_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], fitted: int
) -> None:
    monkeypatch.setattr(store, "FIT_IMAGES", fitted)
    rng = rng_at(3, "lookup test")
    size = int(np.prod(shape))
    images = rng.integers(200 * size, 256).astype(np.uint8).reshape(200, *shape)
    queries = (images[::20] + rng.normal(10 * size).reshape(10, *shape) * 20).astype(np.float32)
    with OnDiskMemory.create(tmp_path / "memory", image_shape=shape) as memory:
        for part in np.split(np.arange(200), 4):
            memory.add(part, images[part])
        memory.forget(np.arange(0, 200, 3))
        left = np.flatnonzero(np.arange(200) % 3)
        rows, distances = brute_force(queries, images[left], 5)
        for _ in range(2):
            labels, found = memory.search(queries, 5)
            assert (labels == left[rows]).all()
            np.testing.assert_allclose(found, distances, rtol=1e-5)
            memory.refit()
    with OnDiskMemory(tmp_path / "memory") as again:
        assert (again.search(queries, 5)[0] == left[rows]).all()


def test_few_candidates_include_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FIT_IMAGES", 500)
    monkeypatch.setattr(store, "CANDIDATES", 8)
    rng = rng_at(4, "few candidates")
    parts = rng.normal(20 * 256).reshape(20, 256)
    images = (128 + 12 * rng.normal(10_000 * 20).reshape(-1, 20) @ parts).clip(0, 255).astype(np.uint8)
    images = images.reshape(-1, 16, 16)
    queries = (images[:200] + 12 * rng.normal(200 * 256).reshape(200, 16, 16)).astype(np.float32)
    with OnDiskMemory.create(tmp_path / "memory", image_shape=(16, 16)) as memory:
        memory.add(np.arange(10_000), images)
        labels, _ = memory.search(queries)
    assert (labels[:, 0] == brute_force(queries, images, 1)[0][:, 0]).mean() >= 0.99


def test_forget_erases_all_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FIT_IMAGES", 12)
    folder = tmp_path / "memory"
    with OnDiskMemory.create(folder, image_shape=SHAPE) as memory:
        memory.add(range(10, 20), images(*range(10, 20)))
        memory.add([1, 2, 3], images(1, 2, 3), ["Ada", "Bertha", "Cleo"])
        code = memory._open.codes()[11].tobytes()
        assert code in (folder / "codes-1").read_bytes()
        assert b"Bertha" in (folder / "names").read_bytes()
        assert not traces(folder, content_of(memory))
        memory.forget([2])
        assert not traces(folder, content_of(memory))
        assert all(word not in path.read_bytes() for path in folder.iterdir() for word in (code, b"Bertha"))
        assert not memory._table._heads[0, :, 11].any()
        assert not memory._table._tails[0, 11].any()


def test_free_rows_are_reused(tmp_path: Path) -> None:
    with OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE) as memory:
        memory.add([1, 2, 3], images(1, 2, 3))
        size = (tmp_path / "memory" / "images").stat().st_size
        for number in range(10, 20):
            memory.forget(memory.classes()[:1])
            memory.add([number], images(number))
        assert (tmp_path / "memory" / "images").stat().st_size == size
        assert memory.classes().tolist() == [17, 18, 19]


def test_only_one_process_can_open_it(tmp_path: Path) -> None:
    memory = OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE)
    with pytest.raises(BadInput, match=r"is open in process \d+ on .*; wait until it is closed there"):
        OnDiskMemory(tmp_path / "memory")
    memory.close()
    OnDiskMemory(tmp_path / "memory").close()


def test_failed_edit_closes_the_memory_and_opening_repairs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE)
    memory.add([1], images(1))
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", FullDisk(5))
        with pytest.raises(files.DiskFull):
            memory.add([2], images(2))
    with pytest.raises(BadInput, match="the memory is closed; open it again"):
        memory.add([2], images(2))
    with OnDiskMemory(tmp_path / "memory") as again:
        assert again.classes().tolist() == [1]
        assert not traces(tmp_path / "memory", content_of(again))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.add([1], images(1)[:, :3]), "1 labels need"),
        (lambda s: s.add([1, 2], images(1)), "2 labels need"),
        (lambda s: s.add([1], images(1).astype(np.float32)), "of float32"),
        (lambda s: s.add([-1], images(1)), "integers from 0 up"),
        (lambda s: s.add([2**63], images(1)), "integers from 0 up"),
        (lambda s: s.add([1.5], images(1)), "integers from 0 up"),
        (lambda s: s.add([7], images(1), ["again"]), "label 7 exists already"),
        (lambda s: s.add([1, 1], images(1, 2), ["a", "b"]), "one name per new class"),
        (lambda s: s.add([1], images(1), ["a\nb"]), "is no valid class name"),
        (lambda s: s.add([1], images(1), ["é" * 101]), "is no valid class name"),
        (lambda s: s.forget([7, 8]), "no exemplar of label 8"),
        (lambda s: s.rename(8, "x"), "no exemplar of label 8"),
        (lambda s: s.rename(7, " "), "is no valid class name"),
        (lambda s: s.name(8), "no exemplar of label 8"),
        (lambda s: s.search(images(1), 0), "k is 0"),
        (lambda s: s.search(image(1)), "this memory has"),
        (lambda s: s.search(images(1) * np.float32(np.nan)), "not finite"),
    ],
)
def test_rejected_input_changes_nothing(tmp_path: Path, edit: object, message: str) -> None:
    with OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE) as memory:
        memory.add([7], images(7))
        before = {path: path.read_bytes() for path in (tmp_path / "memory").iterdir()}
        with pytest.raises(BadInput, match=message):
            edit(memory)  # type: ignore[operator]
        assert {path: path.read_bytes() for path in (tmp_path / "memory").iterdir()} == before
        assert memory.classes().tolist() == [7]


def test_other_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no on-disk memory in"):
        OnDiskMemory(tmp_path)
    (tmp_path / "note").touch()
    with pytest.raises(BadInput, match="is not empty"):
        OnDiskMemory.create(tmp_path)
    with pytest.raises(BadInput, match="image_shape is"):
        OnDiskMemory.create(tmp_path / "new", image_shape=(8,))
    assert not (tmp_path / "new").exists()


def test_damaged_files_are_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with OnDiskMemory.create(folder, image_shape=SHAPE) as memory:
        memory.add([1, 2, 3], images(1, 2, 3))
        memory.rename(1, "one")
    whole = (folder / "images").read_bytes()
    (folder / "images").write_bytes(whole[:-1])
    with pytest.raises(BadInput, match="is cut short: 2 of 3 rows"):
        OnDiskMemory(folder)
    (folder / "images").write_bytes(whole)
    metadata = (folder / "memory.json").read_text()
    for text, message in (
        (metadata.replace('"format": 1', '"format": 2'), "format 2"),
        (metadata[:9], "damaged"),
    ):
        (folder / "memory.json").write_text(text)
        with pytest.raises(BadInput, match=message):
            OnDiskMemory(folder)


def test_search_in_an_empty_memory(tmp_path: Path) -> None:
    with OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE) as memory:
        labels, distances = memory.search(images(1, 2), 3)
        assert labels.shape == distances.shape == (2, 0)
        with pytest.raises(BadInput, match="the memory is empty"):
            memory.refit()


def test_columns_are_stored_erased_and_reopened(tmp_path):
    columns = {"vectors": (np.float16, (3,)), "numbers": (np.int64, ())}
    with OnDiskMemory.create(tmp_path / "memory", image_shape=(4, 4, 4), columns=columns) as memory:
        memory.add(
            [5, 6, 6],
            np.full((3, 4, 4, 4), 9, np.uint8),
            ["a", "b", "b"],
            {"vectors": np.full((3, 3), 1.5), "numbers": np.array([70, 80, 90])},
        )
        memory.settings = {"kind": "test"}
        memory.forget([5])
    assert b"\x46\0\0\0\0\0\0\0" not in (tmp_path / "memory" / "column-numbers").read_bytes()  # 70
    with OnDiskMemory(tmp_path / "memory") as memory:
        assert memory.columns("numbers").tolist() == [80, 90]
        assert memory.columns("vectors").shape == (2, 3)
        assert memory.settings == {"kind": "test"}
        memory.write_column("numbers", np.array([1, 2]))
        assert memory.columns("numbers").tolist() == [1, 2]
        assert memory.names() == {6: "b"}


def test_single_images_and_their_numbers(tmp_path: Path) -> None:
    with OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE) as memory:
        assert memory.find_image(image(1)).tolist() == []
        memory.add([1, 2, 3, 4], np.stack([image(1), image(2), image(3), image(2)]))
        memory.forget([1])
        labels = memory.labels()
        assert sorted(labels[memory.find_image(image(2))].tolist()) == [2, 4]
        near = image(2).copy()
        near[1, 1] ^= 1  # not among the pixels that are compared first
        assert memory.find_image(near).tolist() == []
        for number, whole in enumerate(memory.images()):
            np.testing.assert_array_equal(memory.image_at(number), whole)


def test_columns_are_mapped_without_free_rows(tmp_path):
    columns, settings = {"level": (np.float16, (2,))}, {"kind": "test"}
    folder = tmp_path / "columns"
    with OnDiskMemory.create(folder, image_shape=(4, 4), columns=columns, settings=settings) as memory:
        assert memory.settings == settings
        assert len(memory.mapped_column("level")) == 0
        levels = np.arange(8, dtype=np.float16).reshape(4, 2)
        images = np.arange(64, dtype=np.uint8).reshape(4, 4, 4)
        memory.add([0, 1, 2, 3], images, columns={"level": levels})
        assert np.array_equal(memory.mapped_column("level"), levels)
        assert not memory.mapped_column("level").flags.owndata
        memory.forget([1])
        assert np.array_equal(memory.mapped_column("level"), levels[[0, 2, 3]])
        assert np.array_equal(memory.mapped_column("level"), memory.columns("level"))


@pytest.mark.parametrize(
    "columns", [None, {"a": np.zeros((2, 3))}, {"a": np.zeros((2, 2)), "b": np.zeros(2)}, {"a": np.zeros(2)}]
)
def test_all_columns_are_needed(tmp_path: Path, columns: dict[str, np.ndarray] | None) -> None:
    """A column without rows would make the memory unreadable."""
    with OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE, columns={"a": ("f4", (2,))}) as memory:
        with pytest.raises(BadInput, match="this memory needs"):
            memory.add([1, 2], images(1, 2), columns=columns)
        memory.add([1, 2], images(1, 2), columns={"a": np.ones((2, 2), np.float32)})
    with OnDiskMemory(tmp_path / "memory") as again:
        assert again.columns("a").tolist() == [[1, 1], [1, 1]]


def test_numbers_and_shapes_that_do_not_exist(tmp_path: Path) -> None:
    with OnDiskMemory.create(tmp_path / "memory", image_shape=SHAPE) as memory:
        memory.add([1], images(1))
        with pytest.raises(BadInput, match="number is 1"):
            memory.image_at(1)
    with pytest.raises(BadInput, match="give integers"):
        OnDiskMemory.create(tmp_path / "other", image_shape=(8.5, 8))  # type: ignore[arg-type]
